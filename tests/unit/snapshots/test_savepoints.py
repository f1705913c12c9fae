"""A savepoint is a snapshot with a name: found, restored and deleted by it, and refused where it does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.checkpoint.position import EnginePosition
from tandem.snapshots import (
    NoSnapshotError,
    Savepoint,
    SavepointExistsError,
    SavepointNameError,
    Savepoints,
    SnapshotCorruptError,
    SnapshotManifest,
    SnapshotManifestError,
    SnapshotStore,
    SnapshotStoreError,
    UnknownSavepointError,
    newest_snapshot,
    not_before_epoch,
    not_before_ms,
)
from tandem.snapshots.savepoints import decode_savepoint, encode_savepoint
from tandem.waiting import Deadline
from unit.snapshots.savepoint_builders import ENDS, INPUTS, TAKEN_AT_MS, saved, savepoint_file
from unit.snapshots.snapshot_builders import NOW_MS, Faults, contents, fill, head


@pytest.fixture
def savepoints(store: SnapshotStore) -> Savepoints:
    """Those of a store in a folder, at a time that stands still."""
    return Savepoints(store, lambda: NOW_MS)


def test_a_savepoint_is_found_and_restored_by_its_name(
    store: SnapshotStore, savepoints: Savepoints, root: Path, tmp_path: Path
) -> None:
    snapshot = saved(store, tmp_path)
    made = savepoints.create("before-upgrade", snapshot, INPUTS)

    found = Savepoints(SnapshotStore(str(root))).get("before-upgrade")

    assert found == made
    assert (found.snapshot, found.created_at_ms, found.partitions) == (snapshot, NOW_MS, 2)
    assert (found.inputs.positions, found.inputs.time_ms) == (ENDS, 99)
    assert savepoints.restore(found, tmp_path / "target") == EnginePosition(7, 70)
    assert contents(tmp_path / "target") == contents(tmp_path / "7")


def test_savepoints_are_listed_by_epoch_the_newest_first(
    store: SnapshotStore, savepoints: Savepoints, tmp_path: Path
) -> None:
    for epoch, name in ((7, "b"), (9, "c"), (7, "a")):
        savepoints.create(
            name, saved(store, tmp_path, epoch) if epoch == 9 or name == "b" else store.list()[-1], INPUTS
        )

    assert [savepoint.name for savepoint in savepoints.list().savepoints] == ["c", "a", "b"]


def test_a_state_saved_as_a_savepoint_is_no_snapshot(
    store: SnapshotStore, savepoints: Savepoints, tmp_path: Path
) -> None:
    made = savepoints.save("four", head(5), fill(tmp_path / "folder", {"metadata": b"m"}), INPUTS, rescaled_from="two")

    assert store.list() == ()
    assert savepoints.get("four") == made
    assert (made.rescaled_from, made.partitions) == ("two", 0)
    assert savepoints.restore(made, tmp_path / "target") == EnginePosition(5, 50)


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "../a", "a ", "a.", "é", "-a", "a" * 65, "a\n"])
def test_a_name_that_cannot_be_a_file_everywhere_is_refused(
    store: SnapshotStore, savepoints: Savepoints, tmp_path: Path, name: str
) -> None:
    snapshot = saved(store, tmp_path)

    for refused in (lambda: savepoints.create(name, snapshot, INPUTS), lambda: savepoints.delete(name)):
        with pytest.raises(SavepointNameError, match="letters, digits, dots"):
            refused()


@pytest.mark.parametrize("name", ["a", "0", "before-upgrade_2.1", "A" * 64])
def test_other_names_are_taken(store: SnapshotStore, savepoints: Savepoints, tmp_path: Path, name: str) -> None:
    assert savepoints.create(name, saved(store, tmp_path), INPUTS).name == name


def test_a_name_is_given_once(store: SnapshotStore, savepoints: Savepoints, root: Path, tmp_path: Path) -> None:
    first, second = saved(store, tmp_path, 7), saved(store, tmp_path, 8)
    savepoints.create("a", first, INPUTS)
    before = savepoint_file(root, "a").read_bytes()

    with pytest.raises(SavepointExistsError, match="there is a savepoint a already: delete it first"):
        savepoints.create("a", second, INPUTS)
    with pytest.raises(SavepointExistsError):
        savepoints.save("a", head(9), tmp_path / "8", INPUTS)
    assert savepoint_file(root, "a").read_bytes() == before

    savepoints.delete("a")
    assert savepoints.create("a", second, INPUTS).snapshot == second


def test_who_is_overwritten_in_the_same_moment_is_told(
    root: Path, tmp_path: Path, faults: type[Faults], store: SnapshotStore
) -> None:
    snapshot, other = saved(store, tmp_path, 7), saved(store, tmp_path, 8)
    theirs = encode_savepoint(Savepoint("a", NOW_MS, INPUTS, other))
    reads = []

    def hook(happens: str, path: str) -> None:
        if happens == "read" and "/savepoints/" in path:
            reads.append(path)
            if len(reads) == 3:  # it has looked twice whether the name is free
                savepoint_file(root, "a").write_bytes(theirs)

    faults.set(hook)
    with pytest.raises(SavepointExistsError, match="somebody else has just made a savepoint a"):
        Savepoints(SnapshotStore(f"faulty://{root}"), lambda: NOW_MS).create("a", snapshot, INPUTS)
    faults.heal()
    assert Savepoints(store).get("a").snapshot == other


def test_a_name_that_is_taken_while_the_objects_are_looked_at_is_refused(
    root: Path, tmp_path: Path, faults: type[Faults], store: SnapshotStore
) -> None:
    snapshot, other = saved(store, tmp_path, 7), saved(store, tmp_path, 8)

    def hook(happens: str, path: str) -> None:
        if happens == "list" and "/objects" in path and not savepoint_file(root, "a").exists():
            Savepoints(store).create("a", other, INPUTS)

    faults.set(hook)
    for make in (
        lambda mine: mine.create("a", snapshot, INPUTS),
        lambda mine: mine.save("a", head(9), tmp_path / "8", INPUTS),
    ):
        with pytest.raises(SavepointExistsError, match="there is a savepoint a already"):
            make(Savepoints(SnapshotStore(f"faulty://{root}"), lambda: NOW_MS))
        assert Savepoints(store).get("a").snapshot == other
        Savepoints(store).delete("a")


def test_the_state_of_a_savepoint_gets_another_name_also_when_its_snapshot_is_gone(
    store: SnapshotStore, savepoints: Savepoints, root: Path, tmp_path: Path
) -> None:
    first = savepoints.create("first", saved(store, tmp_path), INPUTS)
    (root / "manifests" / first.snapshot.name).unlink()

    again = savepoints.copy("again", first)

    assert (again.name, again.snapshot, again.inputs) == ("again", first.snapshot, first.inputs)
    savepoints.delete("first")
    assert savepoints.restore(savepoints.get("again"), tmp_path / "target") == EnginePosition(7, 70)
    with pytest.raises(NoSnapshotError, match=r"savepoints/first\.json was collected meanwhile"):
        savepoints.copy("late", first)


def test_an_unknown_name_tells_those_that_there_are(
    store: SnapshotStore, savepoints: Savepoints, tmp_path: Path
) -> None:
    with pytest.raises(UnknownSavepointError, match="there is no savepoint a: there is none yet"):
        savepoints.get("a")
    for name in ("b", "c"):
        savepoints.create(name, saved(store, tmp_path) if name == "b" else store.list()[0], INPUTS)
    with pytest.raises(UnknownSavepointError, match="there is no savepoint a: there are b, c"):
        savepoints.delete("a")


def test_a_torn_or_altered_savepoint_is_found_and_can_be_deleted(
    store: SnapshotStore, savepoints: Savepoints, root: Path, tmp_path: Path
) -> None:
    content = encode_savepoint(savepoints.create("a", saved(store, tmp_path), INPUTS))
    for length in range(0, len(content), 7):
        with pytest.raises(SnapshotManifestError):
            decode_savepoint(content[:length])

    savepoint_file(root, "a").write_bytes(content[:-1])
    with pytest.raises(SnapshotManifestError, match="torn or was altered"):
        savepoints.get("a")
    listing = savepoints.list()
    assert (listing.savepoints, [one.name for one in listing.damaged], listing.names) == ((), ["a"], ("a",))

    savepoints.delete("a")
    assert savepoints.list().names == ()


def test_a_savepoint_under_another_name_is_not_taken_for_it(
    store: SnapshotStore, savepoints: Savepoints, root: Path, tmp_path: Path
) -> None:
    savepoints.create("a", saved(store, tmp_path), INPUTS)
    savepoint_file(root, "a").rename(savepoint_file(root, "b"))

    with pytest.raises(SnapshotManifestError, match="it is that of a"):
        savepoints.get("b")


def test_a_torn_upload_of_a_savepoint_is_never_seen(
    root: Path, tmp_path: Path, faults: type[Faults], store: SnapshotStore
) -> None:
    snapshot = saved(store, tmp_path)
    savepoints = Savepoints(SnapshotStore(f"faulty://{root}"))

    def hook(happens: str, path: str) -> None:
        if happens == "name" and "/savepoints/" in path:
            raise ConnectionError("gone")

    faults.set(hook)
    with pytest.raises(SnapshotStoreError):
        savepoints.create("a", snapshot, INPUTS)
    faults.heal()
    assert savepoints.list().names == ()
    assert savepoints.create("a", snapshot, INPUTS).name == "a"


def test_a_snapshot_that_lacks_a_file_gets_no_name(
    store: SnapshotStore, savepoints: Savepoints, root: Path, tmp_path: Path
) -> None:
    snapshot = saved(store, tmp_path)
    (root / snapshot.files[0].object_path).write_bytes(b"")

    with pytest.raises(SnapshotCorruptError, match="missing from the store, or was cut off"):
        savepoints.create("a", snapshot, INPUTS)
    assert savepoints.list().names == ()


def test_the_newest_snapshot_is_waited_for_until_it_is_wanted(store: SnapshotStore, tmp_path: Path) -> None:
    older = saved(store, tmp_path, 7)
    seen: list[int] = []

    def looked(newest: SnapshotManifest | None) -> None:
        seen.append(-1 if newest is None else newest.epoch)
        if len(seen) == 2:
            saved(store, tmp_path, 8)

    assert newest_snapshot(store) == older
    assert newest_snapshot(store, not_before_epoch(7), Deadline(5)) == older
    assert newest_snapshot(store, not_before_epoch(8), Deadline(5), looked).epoch == 8
    assert seen == [7, 7, 8]


def test_only_snapshots_of_what_runs_now_are_looked_for(store: SnapshotStore, tmp_path: Path) -> None:
    """The store was kept when the topics were deleted: its newest snapshot is of an epoch that is not there yet."""
    mine = store.save(head(3, config="mine"), fill(tmp_path / "mine", {"metadata": b"m"}))
    store.save(head(900, config="of another run"), fill(tmp_path / "theirs", {"metadata": b"t"}))

    assert newest_snapshot(store, lineages=("mine", "mine of an older Tandem")) == mine
    with pytest.raises(NoSnapshotError, match="there is no snapshot of the generation that runs now") as none:
        newest_snapshot(store, lineages=("none",))
    assert none.value.newest is None
    with pytest.raises(NoSnapshotError, match="there is no newer snapshot"):
        newest_snapshot(store, not_before_epoch(4), Deadline(0.1), lineages=("mine",))


def test_waiting_for_a_snapshot_ends_and_tells_the_newest(store: SnapshotStore, tmp_path: Path) -> None:
    with pytest.raises(NoSnapshotError, match="there is no snapshot") as none:
        newest_snapshot(store)
    assert none.value.newest is None

    older = saved(store, tmp_path, 7)
    with pytest.raises(NoSnapshotError, match="there is no newer snapshot") as late:
        newest_snapshot(store, not_before_ms(TAKEN_AT_MS + 1), Deadline(0.1))
    assert late.value.newest == older
    assert newest_snapshot(store, not_before_ms(TAKEN_AT_MS), Deadline(0.1)) == older
