"""A savepoint is looked at by who begins a generation with it; a later start of its replicas needs it no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.supervised import write_manifest
from tandem.manifest import Manifest, load
from tandem.process.info import RefusedError
from tandem.protocol.values import Config, Offsets
from tandem.replica import states as module
from tandem.replica.identity_parts import identity_of, plan_parts, with_plan
from tandem.replica.origin import origin_of
from tandem.replica.states import States
from tandem.snapshots import Savepoint, Savepoints, SnapshotStore, SnapshotStoreError
from unit.snapshots.savepoint_builders import INPUTS, saved
from unit.snapshots.snapshot_builders import Faults

MINE = identity_of({"code": "new"})
PLANNED = with_plan(MINE, plan_parts({"constants": "c"}, {}))


def accepted(savepoint: str, digest: str = PLANNED) -> Config:
    return Config(1, digest, Offsets(), "replica-1", base=40, savepoint=savepoint)


def gone() -> Savepoint:
    raise RefusedError("it was deleted")


def test_a_replica_that_starts_again_asks_for_no_savepoint() -> None:
    assert origin_of(accepted("generation-1"), MINE, "generation-1", gone) == (40, "generation-1")


@pytest.mark.parametrize(
    "newest",
    [None, accepted("generation-1", identity_of({"code": "old"})), accepted("another"), accepted("")],
    ids=["never ran", "other code", "another savepoint", "no savepoint"],
)
def test_who_begins_a_generation_needs_its_savepoint(newest: Config | None) -> None:
    with pytest.raises(RefusedError, match="it was deleted"):
        origin_of(newest, MINE, "generation-1", gone)


def with_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Manifest, SnapshotStore]:
    """A manifest with a snapshot store, and that; replicas meet it as one that can be away."""
    path = write_manifest(folder, "orders")
    path.write_text(f"{path.read_text()}  snapshots: {{store: {folder / 'store'}}}\n")
    monkeypatch.setattr(module, "SnapshotStore", lambda url, _: SnapshotStore(f"faulty://{url}"))
    manifest = load(path)
    spec = manifest.spec.snapshots
    assert spec is not None
    return manifest, SnapshotStore(spec.url(manifest.name, manifest.base))


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Manifest:
    """With a snapshot store that can be away, which has the savepoint `generation-1` of epoch 7."""
    manifest, store = with_store(tmp_path, monkeypatch)
    Savepoints(store).create("generation-1", saved(store, tmp_path / "from"), INPUTS)
    return manifest


@pytest.fixture
def faults() -> Iterator[type[Faults]]:
    yield Faults
    Faults.heal()


def states(job: Manifest, folder: Path) -> States:
    return States(job, "orders.replica-0.aaaa", folder / "orders.replica-0.aaaa")


def goes_away(operation: str, _path: str) -> None:
    if operation in ("list", "read"):
        raise ConnectionError("no route")


def test_a_store_that_is_away_is_no_lost_savepoint(job: Manifest, tmp_path: Path, faults: type[Faults]) -> None:
    mine = states(job, tmp_path)
    faults.set(goes_away)
    with pytest.raises(SnapshotStoreError, match="no route"):
        mine.fitting_savepoint("generation-1", {})
    faults.heal()
    with pytest.raises(
        RefusedError, match=r"there is no savepoint generation-2: there are generation-1\. If it is lost"
    ):
        mine.fitting_savepoint("generation-2", {})


def test_what_is_left_of_a_savepoint_on_this_machine_hides_none_in_the_store(job: Manifest, tmp_path: Path) -> None:
    (tmp_path / "savepoints" / "generation-1" / "objects").mkdir(parents=True)
    with pytest.raises(RefusedError, match="source flights is gone"):  # as the one in the store says
        states(job, tmp_path).fitting_savepoint("generation-1", {})
