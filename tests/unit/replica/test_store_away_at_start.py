"""A store that is away for a moment costs no replica the state that is there, and no other one its time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tandem.checkpoint.folders import begin_after
from tandem.checkpoint.position import EnginePosition
from tandem.manifest import load
from tandem.protocol.values import Config, Offsets
from tandem.replica import states as module
from tandem.replica.states import States
from tandem.snapshots import SnapshotStoreError
from tandem.waits import Task, Waits
from unit.replica.test_origin import with_store
from unit.replica.test_states_of_others import Nothing
from unit.snapshots.snapshot_builders import Faults, checkpoint, head

HERE = Config(0, "c0ffee", Offsets(), "a")


class Away:
    """A store that does not answer for so many looks."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def __call__(self, operation: str, _path: str) -> None:
        if operation == "list" and self.left > 0:
            self.left -= 1
            raise ConnectionError("no route")


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Faults]]:
    monkeypatch.setattr(module, "_STORE_LOOK_S", 0.01)
    yield Faults
    Faults.heal()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a job whose store has a snapshot of epoch 7."""
    _, store = with_store(tmp_path, monkeypatch)
    store.save(head(7, config=HERE.lineage), checkpoint(tmp_path / "from", 7))
    return tmp_path


def states(folder: Path, incarnation: str) -> States:
    made = States(load(folder / "job.yaml"), incarnation, folder / incarnation)
    made.belong_to(HERE)
    return made


def test_without_other_state_the_store_is_waited_for(folder: Path, faults: type[Faults]) -> None:
    mine, waits = states(folder, "orders.replica-0.aaaa"), Waits(0.0)
    task, said = waits.task(), []
    task.begins("the state to go on from")
    away = Away(3)

    def looks(operation: str, path: str) -> None:
        said.append(waits.words)
        away(operation, path)

    faults.set(looks)
    assert mine.restore(9, Nothing(), task) == EnginePosition(7, 70)
    assert "the state to go on from: an answer of the snapshot store: there is no state elsewhere" in said[-1]


def test_a_store_that_stays_away_ends_the_start_instead_of_computing_all_epochs(
    folder: Path, faults: type[Faults], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_STORE_S", 0.05)
    mine = states(folder, "orders.replica-0.aaaa")
    faults.set(Away(1_000_000))
    with pytest.raises(
        SnapshotStoreError, match=r"no route\..* This machine has no state of the job.* Bring the store"
    ):
        mine.restore(9, Nothing(), Task())


def test_a_job_that_can_do_without_state_waits_for_none(folder: Path, faults: type[Faults]) -> None:
    faults.set(Away(1_000_000))
    assert states(folder, "orders.replica-0.aaaa").restore(9, Nothing()) == EnginePosition()


def test_with_state_on_this_machine_nothing_is_waited_for(folder: Path, faults: type[Faults]) -> None:
    local = states(folder, "orders.replica-1.bbbb")
    begin_after(local.checkpoint, EnginePosition(4, 40))
    local.compared(4)
    mine = states(folder, "orders.replica-0.aaaa")
    away = Away(1)
    faults.set(away)
    assert mine.restore(500, Nothing(), Task()) == EnginePosition(4, 40)
    assert away.left == 0, "it was asked"


def test_a_job_that_has_published_nothing_begins_whether_or_not_the_store_is_there(
    folder: Path, faults: type[Faults]
) -> None:
    faults.set(Away(1))
    assert states(folder, "orders.replica-0.aaaa").restore(-1, Nothing(), Task()) == EnginePosition()


class Standby(Nothing):
    """That has followed the state up to an epoch."""

    def __init__(self, epoch: int) -> None:
        self.followed = epoch

    def hand_over(self, target: Path) -> EnginePosition | None:
        begin_after(target, EnginePosition(self.followed, 10 * self.followed))
        return EnginePosition(self.followed, 10 * self.followed)


@pytest.mark.parametrize("followed", [6, 7, 8])
def test_the_store_is_not_asked_for_what_a_standby_has_followed(folder: Path, followed: int) -> None:
    mine = states(folder, "orders.replica-0.aaaa")
    newest = max(7, followed)
    assert mine.restore(500, Standby(followed)) == EnginePosition(newest, 10 * newest)
    assert (mine.checkpoint / "state").exists() == (followed < 7), "it was downloaded"


@pytest.mark.parametrize("last_published", [9, 500])
def test_what_is_dropped_before_it_is_taken_hides_nothing_in_the_store(folder: Path, last_published: int) -> None:
    class Dropped(Standby):
        def hand_over(self, target: Path) -> EnginePosition | None:  # noqa: ARG002
            return None

    assert states(folder, "orders.replica-0.aaaa").restore(last_published, Dropped(8)) == EnginePosition(7, 70)
