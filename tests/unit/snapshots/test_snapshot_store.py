"""What a store gives back is what was saved, or an error that names the file; nobody ever sees half of anything."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tandem.checkpoint.position import EnginePosition
from tandem.snapshots import (
    SnapshotCancelledError,
    SnapshotCorruptError,
    SnapshotManifest,
    SnapshotStore,
    SnapshotStoreError,
)
from tandem.snapshots.errors import IncompleteCheckpointError
from unit.snapshots.snapshot_builders import Contents, Faults, contents, fill, head

OLD: Contents = {"metadata": b"m", "state/0/0/1.zip": b"x" * 3_000_000, "offsets/6": b"six"}
NEW: Contents = {"metadata": b"m", "state/0/0/1.zip": b"x" * 3_000_000, "offsets/7": b"seven", "commits/7": b""}


def objects(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (root / "objects").rglob("*") if path.is_file()}


def object_of(root: Path, manifest: SnapshotManifest, path: str) -> Path:
    return next(root / file.object_path for file in manifest.files if file.path == path)


@pytest.fixture
def old(store: SnapshotStore, tmp_path: Path) -> SnapshotManifest:
    """The snapshot of epoch 6."""
    return store.save(head(6), fill(tmp_path / "old", OLD))


@pytest.fixture
def new(old: SnapshotManifest, store: SnapshotStore, tmp_path: Path) -> SnapshotManifest:
    """The snapshot of epoch 7, after that of epoch 6."""
    return store.save(head(old.epoch + 1), fill(tmp_path / "new", NEW))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Where snapshots are restored."""
    return tmp_path / "replica" / "checkpoint"


def test_what_was_saved_is_restored(new: SnapshotManifest, root: Path, target: Path) -> None:
    SnapshotStore(str(root)).restore(new, target)

    assert contents(target) == NEW
    assert [path.name for path in target.parent.iterdir()] == ["checkpoint"]
    assert (new.epoch, new.size) == (7, 3_000_006)


def test_the_newest_is_listed_first(
    store: SnapshotStore, old: SnapshotManifest, new: SnapshotManifest, root: Path
) -> None:
    assert SnapshotStore(str(root)).list() == (new, old)
    assert store.newest() == new


def test_a_store_without_snapshots_lists_none(store: SnapshotStore, target: Path) -> None:
    assert store.list() == ()
    assert store.newest() is None
    assert store.newest_usable(9, "c", target) is None


@pytest.mark.usefixtures("old")
def test_a_content_is_sent_once_whoever_sends_it(root: Path, tmp_path: Path, faults: type[Faults]) -> None:
    sent: list[str] = []
    faults.set(lambda operation, path: sent.append(path) if operation == "name" else None)
    again = {"a/1": b"same", "a/2": b"same", **NEW}

    SnapshotStore(f"faulty://{root}").save(head(7, incarnation="j.replica-1.2b"), fill(tmp_path / "other", again))

    kinds = [path.removeprefix(f"{root}/").partition("/")[0] for path in sent]
    assert kinds == ["objects"] * 3 + ["manifests"]
    assert sorted(objects(root).values()) == sorted({*OLD.values(), *NEW.values(), b"same"})


def test_files_of_an_upload_that_was_torn_are_invisible_and_used_by_the_next(
    old: SnapshotManifest, root: Path, tmp_path: Path, target: Path, faults: type[Faults]
) -> None:
    store = SnapshotStore(f"faulty://{root}")
    fail_at(faults, "name", "manifests", ConnectionError("gone"))
    with pytest.raises(SnapshotStoreError, match=r"cannot write manifests/0.*7-j.* gone"):
        store.save(head(7), fill(tmp_path / "new", NEW))
    sent = objects(root)

    assert store.list() == (old,)
    assert store.newest_usable(9, "c", target) == EnginePosition(6, 60)
    faults.heal()
    assert store.save(head(7), tmp_path / "new").epoch == 7
    assert objects(root) == sent


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda content: content[:-1], "has 2999999 bytes instead of 3000000"),
        (lambda content: content + b"x", "has 3000001 bytes instead of 3000000"),
        (lambda _: b"", "has 0 bytes instead of 3000000"),
        (lambda content: content[:-1] + b"y", "does not match its hash: it was altered"),
        (lambda _: None, "is missing from the store"),
    ],
    ids=["truncated", "longer", "empty", "altered", "missing"],
)
def test_a_damaged_object_is_never_restored(
    store: SnapshotStore, new: SnapshotManifest, root: Path, target: Path, damage: object, reason: str
) -> None:
    damaged = object_of(root, new, "state/0/0/1.zip")
    assert callable(damage)
    content = damage(damaged.read_bytes())
    damaged.unlink() if content is None else damaged.write_bytes(content)

    with pytest.raises(SnapshotCorruptError, match=rf"state/0/0/1\.zip: objects/.* {reason}") as error:
        store.restore(new, target)
    assert error.value.file == "state/0/0/1.zip"
    assert list(target.parent.iterdir()) == []


def test_a_damaged_snapshot_is_fallen_back_from(
    store: SnapshotStore, new: SnapshotManifest, root: Path, target: Path, warnings: list[str]
) -> None:
    object_of(root, new, "offsets/7").write_bytes(b"SEVEN")

    assert store.newest_usable(9, "c", target) == EnginePosition(6, 60)
    assert contents(target) == OLD
    assert [line for line in warnings if "snapshot_corrupt" in line and new.name in line and "offsets/7" in line]


def test_a_snapshot_that_cannot_be_read_is_fallen_back_from(
    new: SnapshotManifest, root: Path, target: Path, faults: type[Faults], warnings: list[str]
) -> None:
    own = object_of(root, new, "offsets/7").name
    fail_at(faults, "read", f"objects/{own[:2]}/{own}", OSError(errno.EIO, "Input/output error"))

    assert SnapshotStore(f"faulty://{root}").newest_usable(9, "c", target) == EnginePosition(6, 60)
    assert contents(target) == OLD
    assert any(f"snapshot_unreadable {new.name}" in line and "Input/output error" in line for line in warnings)


def test_if_all_are_damaged_nothing_is_restored(
    store: SnapshotStore, new: SnapshotManifest, root: Path, target: Path
) -> None:
    object_of(root, new, "metadata").unlink()

    assert store.newest_usable(9, "c", target) is None
    assert not target.exists()


class Slow(SnapshotStore):
    """While it restores a snapshot, a collector removes all that there are; `newer` : how many are taken meanwhile."""

    def __init__(self, root: Path, folder: Path, newer: int) -> None:
        super().__init__(str(root))
        self._root, self._folder, self.newer, self._next = root, folder, newer, 8

    def restore(self, manifest: SnapshotManifest, target: Path, have: Path | None = None) -> None:
        if self.newer:
            self.newer -= 1
            for file in [*self._root.glob("manifests/*"), *self._root.glob("objects/*/*")]:
                file.unlink()
            made = fill(self._folder / str(self._next), {"metadata": b"m", "offsets/9": b"%d" % self._next})
            SnapshotStore(str(self._root)).save(head(self._next), made)
            self._next += 1
        super().restore(manifest, target, have)


@pytest.mark.usefixtures("new")
def test_a_snapshot_that_is_collected_while_it_is_restored_gives_way_to_a_newer_one(
    root: Path, tmp_path: Path, target: Path
) -> None:
    assert Slow(root, tmp_path, 2).newest_usable(20, "c", target) == EnginePosition(9, 90)


@pytest.mark.usefixtures("new")
def test_a_store_whose_snapshots_are_all_collected_too_soon_is_not_taken_for_an_empty_one(
    root: Path, tmp_path: Path, target: Path
) -> None:
    with pytest.raises(SnapshotStoreError, match=r"removed while it was restored.* Raise spec.snapshots.retainAge"):
        Slow(root, tmp_path, 9).newest_usable(20, "c", target)


@pytest.mark.parametrize("length", [0, 1, 100, -1])
def test_a_truncated_manifest_is_passed_over(
    old: SnapshotManifest, new: SnapshotManifest, root: Path, target: Path, warnings: list[str], length: int
) -> None:
    path = root / "manifests" / new.name
    path.write_bytes(path.read_bytes()[:length])
    store = SnapshotStore(str(root))

    assert store.list() == (old,)
    assert store.newest_usable(9, "c", target) == EnginePosition(6, 60)
    assert any("snapshot_manifest_invalid" in line and new.name in line for line in warnings)


def test_a_manifest_under_the_name_of_another_epoch_is_passed_over(
    store: SnapshotStore, old: SnapshotManifest, root: Path
) -> None:
    (root / "manifests" / old.name).rename(root / "manifests" / head(9).name)

    assert store.list() == ()


@pytest.mark.usefixtures("new")
def test_state_that_is_newer_than_what_is_published_is_not_restored(store: SnapshotStore, target: Path) -> None:
    assert store.newest_usable(6, "c", target) == EnginePosition(6, 60)


@pytest.mark.usefixtures("new")
def test_state_that_is_not_newer_than_what_a_replica_has_is_not_fetched(store: SnapshotStore, target: Path) -> None:
    assert store.newest_usable(9, "c", target, newer_than=7) is None
    assert store.newest_usable(9, "c", target, newer_than=6) == EnginePosition(7, 70)


@pytest.mark.usefixtures("new")
def test_state_of_another_job_is_not_restored(store: SnapshotStore, target: Path) -> None:
    assert store.newest_usable(9, "another", target) is None


def test_a_snapshot_is_not_mixed_with_what_is_there(store: SnapshotStore, new: SnapshotManifest, target: Path) -> None:
    fill(target, {"offsets/9": b"nine"})

    with pytest.raises(FileExistsError, match="is not empty"):
        store.restore(new, target)
    assert contents(target) == {"offsets/9": b"nine"}


def test_what_an_interrupted_restoration_left_does_no_harm(
    store: SnapshotStore, new: SnapshotManifest, target: Path
) -> None:
    fill(target.with_name(".checkpoint.restoring"), {"offsets/9": b"nine"})
    target.mkdir()

    store.restore(new, target)

    assert contents(target) == NEW


def test_a_truncated_object_is_sent_again_by_the_next_snapshot(
    store: SnapshotStore, new: SnapshotManifest, root: Path, tmp_path: Path, target: Path
) -> None:
    object_of(root, new, "state/0/0/1.zip").write_bytes(b"x")

    healed = SnapshotStore(str(root)).save(head(8), tmp_path / "new")

    store.restore(healed, target)
    assert contents(target) == NEW


def test_an_empty_folder_is_no_snapshot(store: SnapshotStore, tmp_path: Path) -> None:
    with pytest.raises(IncompleteCheckpointError, match="is empty"):
        store.save(head(), tmp_path)


def fail_at(faults: type[Faults], operation: str, where: str, error: Exception) -> None:
    def hook(happens: str, path: str) -> None:
        if happens == operation and f"/{where}" in path:
            raise error

    faults.set(hook)


@pytest.mark.usefixtures("new")
@pytest.mark.parametrize("operation", ["list", "read"])
def test_a_store_that_is_away_is_told_from_an_empty_one(
    root: Path, target: Path, faults: type[Faults], operation: str
) -> None:
    store = SnapshotStore(f"faulty://{root}")
    fail_at(faults, operation, "", OSError(errno.EIO, "Input/output error"))

    for use in (store.list, store.newest, lambda: store.newest_usable(9, "c", target)):
        with pytest.raises(SnapshotStoreError, match=f"cannot {operation} .* in faulty://.*Input/output error"):
            use()
    assert not target.exists()


@pytest.mark.usefixtures("new")
def test_a_store_that_goes_away_during_a_restoration_leaves_nothing(
    root: Path, target: Path, faults: type[Faults]
) -> None:
    fail_at(faults, "read", "objects", TimeoutError("no answer"))

    with pytest.raises(SnapshotStoreError, match="TimeoutError: no answer"):
        SnapshotStore(f"faulty://{root}").newest_usable(9, "c", target)
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize("where", ["incoming", "objects", "manifests"])
def test_a_full_store_keeps_what_it_has(
    old: SnapshotManifest, root: Path, tmp_path: Path, faults: type[Faults], where: str
) -> None:
    store = SnapshotStore(f"faulty://{root}")
    full = OSError(errno.ENOSPC, "No space left on device")
    fail_at(faults, "write" if where == "incoming" else "name", where, full)

    with pytest.raises(SnapshotStoreError, match="No space left on device"):
        store.save(head(7), fill(tmp_path / "new", NEW))
    assert SnapshotStore(str(root)).list() == (old,)
    assert list((root / "incoming").iterdir()) == []


def test_saving_is_given_up_between_two_files(store: SnapshotStore, root: Path, tmp_path: Path) -> None:
    with pytest.raises(SnapshotCancelledError, match="epoch 7 was not saved: the process stops"):
        store.save(head(7), fill(tmp_path / "new", NEW), stopped=lambda: True)
    assert not (root / "manifests").exists()


def test_a_store_that_cannot_be_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(SnapshotStoreError, match=r"cannot list manifests in .*file: NotADirectoryError"):
        SnapshotStore(str(tmp_path / "file")).save(head(), fill(tmp_path / "new", NEW))


@pytest.mark.parametrize(("url", "reason"), [("absent://x/y", "absent://x/y cannot be used as a store: .*absent")])
def test_a_store_of_an_unknown_kind_is_refused(url: str, reason: str) -> None:
    with pytest.raises(SnapshotStoreError, match=reason):
        SnapshotStore(url)


def test_a_store_in_memory_works_like_a_folder(tmp_path: Path, target: Path) -> None:
    store = SnapshotStore(f"memory://{tmp_path.name}/j")
    saved = store.save(head(7), fill(tmp_path / "new", NEW))

    assert store.list() == (saved,)
    assert store.newest_usable(9, "c", target) == EnginePosition(7, 70)
    assert contents(target) == NEW
