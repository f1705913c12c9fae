"""Of a job that is gone nothing stays in the store, and of others everything."""

from __future__ import annotations

from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from tandem.snapshots import Savepoints, SnapshotStore, SnapshotStoreError, remove_all
from unit.snapshots.savepoint_builders import INPUTS
from unit.snapshots.snapshot_builders import Contents, Faults, contents, fill, head

STATE: Contents = {"metadata": b"m", "offsets/7": b"seven"}


def test_snapshots_and_savepoints_go_and_what_lies_beside_them_stays(root: Path, tmp_path: Path) -> None:
    store, other = SnapshotStore(str(root)), SnapshotStore(str(root.parent / "other"))
    folder = fill(tmp_path / "state", STATE)
    Savepoints(store).create("first", store.save(head(7), folder), INPUTS)
    other.save(head(7), folder)
    fill(root, {"notes.txt": b"mine"})
    before = contents(root.parent / "other")

    assert remove_all(store) == 4
    assert contents(root) == {"notes.txt": b"mine"}
    assert contents(root.parent / "other") == before


def test_where_nothing_is_nothing_is_to_be_removed(store: SnapshotStore) -> None:
    assert remove_all(store) == 0


def test_what_stays_of_an_attempt_that_fails_is_found_by_nobody(
    root: Path, tmp_path: Path, faults: type[Faults]
) -> None:
    store = SnapshotStore(f"faulty://{root}")
    store.save(head(7), fill(tmp_path / "state", STATE))

    def away(operation: str, path: str) -> None:
        if operation == "remove" and path.endswith("objects"):
            raise OSError("the store is away")

    faults.set(away)
    with pytest.raises(SnapshotStoreError, match=r"cannot remove objects in .*the store is away"):
        remove_all(store)
    faults.heal()
    assert store.newest() is None
    assert remove_all(store) == 2


def test_a_store_whose_name_looks_like_a_pattern_takes_nothing_of_another_along(tmp_path: Path) -> None:
    stores = {name: SnapshotStore(f"memory://{tmp_path.name}/{name}") for name in ("j*", "j[1]", "j1")}
    for store in stores.values():
        store.save(head(7), fill(tmp_path / "state", STATE))

    assert (remove_all(stores["j*"]), remove_all(stores["j[1]"])) == (3, 3)
    assert [name for name, store in stores.items() if store.newest()] == ["j1"]


def test_files_that_a_store_keeps_without_a_word_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SnapshotStore(f"memory://{tmp_path.name}")
    store.save(head(7), fill(tmp_path / "state", STATE))

    with monkeypatch.context() as credentials:
        credentials.setattr(MemoryFileSystem, "rm", lambda *_, **__: None)
        with pytest.raises(SnapshotStoreError, match=r"cannot remove all of manifests .* manifests/\S+ is still there"):
            remove_all(store)
    assert remove_all(store) == 3
    assert remove_all(store) == 0
