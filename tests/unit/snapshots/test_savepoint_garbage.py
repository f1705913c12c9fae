"""What a savepoint names stays until it is deleted, and a while longer, whoever collects at whatever moment."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tandem.snapshots import NoSnapshotError, Retention, Savepoints, SnapshotManifest, SnapshotStore, SnapshotStoreError
from unit.snapshots.savepoint_builders import INPUTS, saved, savepoint_file
from unit.snapshots.snapshot_builders import GRACE_MS, ONE, Contents, Faults, age, contents, fill, head, wall_ms


@pytest.fixture
def store(root: Path) -> SnapshotStore:
    """A store that keeps for an hour what nothing names, and can be made to fail."""
    return SnapshotStore(f"faulty://{root}", grace_ms=GRACE_MS)


def collect(store: SnapshotStore, root: Path, hours: int = 2, rounds: int = 3) -> None:
    """Let hours pass, and collect, several times: what may go, goes."""
    for _ in range(rounds):
        age(root, hours * GRACE_MS)
        store.collect_garbage(ONE, wall_ms(1))


def objects(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in (root / "objects").rglob("*") if path.is_file()}


def named(*snapshots: SnapshotManifest) -> set[str]:
    return {file.object_path for snapshot in snapshots for file in snapshot.files}


def test_what_a_savepoint_names_outlives_its_snapshot(store: SnapshotStore, root: Path, tmp_path: Path) -> None:
    kept, gone, newest = (saved(store, tmp_path, epoch) for epoch in (1, 2, 3))
    savepoint = Savepoints(store).create("a", kept, INPUTS)
    collect(store, root)

    assert store.list() == (newest,)
    assert objects(root) == named(kept, newest)
    assert named(gone) - objects(root)
    Savepoints(store).restore(savepoint, tmp_path / "target")
    assert contents(tmp_path / "target") == contents(tmp_path / "1")


def test_a_state_saved_as_a_savepoint_stays_too(store: SnapshotStore, root: Path, tmp_path: Path) -> None:
    newest = saved(store, tmp_path, 3)
    folder = fill(tmp_path / "folder", {"metadata": b"m", "state/0/0/9.zip": b"divided again"})
    savepoint = Savepoints(store).save("a", head(3), folder, INPUTS)
    collect(store, root)

    assert objects(root) == named(newest, savepoint.snapshot)


def test_after_its_deletion_what_only_it_names_goes_a_grace_period_later(
    store: SnapshotStore, root: Path, tmp_path: Path
) -> None:
    kept = saved(store, tmp_path, 1)
    savepoints = Savepoints(store)
    savepoint = savepoints.create("a", kept, INPUTS)
    newest = saved(store, tmp_path, 3)
    collect(store, root)
    savepoints.delete("a")

    assert savepoints.list().names == ()
    store.collect_garbage(ONE, wall_ms(1))
    savepoints.restore(savepoint, tmp_path / "target")  # by somebody who found it before

    collect(store, root, rounds=1)
    assert objects(root) == named(newest)
    assert not any((root / "deleted-savepoints").iterdir())


def test_beside_a_savepoint_that_cannot_be_read_nothing_is_removed(
    store: SnapshotStore, root: Path, tmp_path: Path, warnings: list[str]
) -> None:
    kept, gone = (saved(store, tmp_path, epoch) for epoch in (1, 2))
    saved(store, tmp_path, 3)
    savepoints = Savepoints(store)
    savepoints.create("a", kept, INPUTS)
    whole = savepoint_file(root, "a").read_bytes()
    savepoint_file(root, "a").write_bytes(whole[:-1])
    before = objects(root)
    collect(store, root)

    assert objects(root) == before
    assert any("garbage_left" in line and "savepoints/a.json" in line and "delete it" in line for line in warnings)

    savepoint_file(root, "a").write_bytes(whole)
    collect(store, root)
    assert objects(root) & named(gone) < named(gone)
    assert named(kept) <= objects(root)


def test_files_of_others_among_the_savepoints_keep_nothing_and_are_named_once(
    store: SnapshotStore, root: Path, tmp_path: Path, warnings: list[str]
) -> None:
    kept, gone, newest = (saved(store, tmp_path, epoch) for epoch in (1, 2, 3))
    Savepoints(store).create("a", kept, INPUTS)
    whole = savepoint_file(root, "a").read_bytes()
    others: Contents = {".DS_Store": b"x", "@eaDir/a.json": whole, ".a.json.swp": b"x", "._a.json": b"x", "a.bak": b"{"}
    fill(root / "savepoints", others)
    collect(store, root)

    assert objects(root) == named(kept, newest)
    assert named(gone) - objects(root)
    assert sorted(line.split()[1] for line in warnings) == sorted(f"savepoints/{path}" for path in others)
    assert contents(root / "savepoints") == {**others, "a.json": whole}, "they are not ours to remove"
    listing = Savepoints(store).list()
    assert (listing.names, listing.damaged) == (("a",), ())


def test_a_damaged_savepoint_that_was_deleted_blocks_nobody(store: SnapshotStore, root: Path, tmp_path: Path) -> None:
    kept, newest = saved(store, tmp_path, 1), saved(store, tmp_path, 3)
    savepoints = Savepoints(store)
    savepoints.create("a", kept, INPUTS)
    savepoint_file(root, "a").write_bytes(b"{")
    savepoints.delete("a")
    collect(store, root)

    assert objects(root) == named(newest)


@pytest.mark.parametrize("folder", ["savepoints", "deleted-savepoints"])
def test_if_savepoints_cannot_be_listed_nothing_is_removed(
    store: SnapshotStore, root: Path, tmp_path: Path, faults: type[Faults], folder: str
) -> None:
    kept = saved(store, tmp_path, 1)
    saved(store, tmp_path, 3)
    savepoints = Savepoints(store)
    savepoints.create("a", kept, INPUTS)
    savepoints.create("b", kept, INPUTS)
    savepoints.delete("b")
    age(root, 9 * GRACE_MS)
    before = objects(root)

    def hook(happens: str, path: str) -> None:
        if happens == "list" and path.rstrip("/").endswith(f"/{folder}"):
            raise OSError(5, "Input/output error")

    faults.set(hook)
    with pytest.raises(SnapshotStoreError):
        store.collect_garbage(ONE, wall_ms(1))
    faults.heal()
    assert objects(root) == before


def test_a_snapshot_about_to_go_gets_no_name(store: SnapshotStore, tmp_path: Path) -> None:
    old = saved(store, tmp_path, 1)
    saved(store, tmp_path, 3)
    store.collect_garbage(ONE, wall_ms(1))

    with pytest.raises(NoSnapshotError, match="collected meanwhile"):
        Savepoints(store).create("a", old, INPUTS)
    assert Savepoints(store).list().names == ()


def test_who_takes_too_long_to_give_a_name_gives_none(root: Path, tmp_path: Path, faults: type[Faults]) -> None:
    now = [0.0]
    store = SnapshotStore(f"faulty://{root}", grace_ms=GRACE_MS, clock_ms=lambda: now[0])
    old = saved(store, tmp_path, 1)

    def hook(happens: str, path: str) -> None:
        if happens == "name" and "/savepoints/" in path:
            now[0] += GRACE_MS / 2

    faults.set(hook)
    with pytest.raises(SnapshotStoreError, match="too slow"):
        Savepoints(store).create("a", old, INPUTS)
    assert Savepoints(store).list().names == ()


def test_a_savepoint_made_while_somebody_collects_is_whole(
    root: Path, tmp_path: Path, faults: type[Faults], store: SnapshotStore
) -> None:
    """A collector that has decided what to remove, and sleeps before it does, removes nothing of a new savepoint."""
    old = saved(store, tmp_path, 1)
    saved(store, tmp_path, 3)
    age(root, 2 * GRACE_MS)
    made: list[str] = []

    def hook(happens: str, path: str) -> None:
        if happens == "name" and path.endswith(".retired") and not made:
            made.append("a")
            faults.heal()
            Savepoints(store).create("a", old, INPUTS)  # the collector is about to retire it

    faults.set(hook)
    store.collect_garbage(ONE, wall_ms(1))
    assert made
    collect(store, root)
    savepoints = Savepoints(store)
    savepoints.restore(savepoints.get("a"), tmp_path / "target")
    assert contents(tmp_path / "target") == contents(tmp_path / "1")


@pytest.mark.parametrize("where", ["list", "read"])
def test_one_that_is_deleted_while_somebody_collects_stays_for_its_readers(
    root: Path, tmp_path: Path, faults: type[Faults], store: SnapshotStore, where: str
) -> None:
    kept = saved(store, tmp_path, 1)
    savepoint = Savepoints(store).create("a", kept, INPUTS)
    saved(store, tmp_path, 3)
    age(root, 2 * GRACE_MS)
    store.collect_garbage(ONE, wall_ms(1))  # retires the snapshot
    age(root, 2 * GRACE_MS)

    def hook(happens: str, path: str) -> None:
        folder = "/savepoints" if where == "list" else "/savepoints/a.json"
        if happens == where and path.rstrip("/").endswith(folder):
            faults.heal()
            Savepoints(store).delete("a")

    faults.set(hook)
    store.collect_garbage(ONE, wall_ms(1))
    assert Savepoints(store).list().names == ()
    Savepoints(store).restore(savepoint, tmp_path / "target")


@pytest.mark.parametrize("seed", range(10))
def test_whatever_happens_in_whatever_order_savepoints_can_be_restored(root: Path, tmp_path: Path, seed: int) -> None:
    """Snapshots, savepoints, deletions and collections of several processes, with hours between them."""
    chance = random.Random(seed)
    stores = [SnapshotStore(str(root), grace_ms=GRACE_MS) for _ in range(3)]
    epoch = 0
    expected: dict[str, int] = {}

    def snapshot() -> None:
        nonlocal epoch
        epoch += 1
        saved(chance.choice(stores), tmp_path, epoch, {"shared": b"%d" % (epoch // 3)})

    def name() -> None:
        found = chance.choice(stores).list()
        if found and (free := [n for n in "abc" if n not in expected]):
            chosen = chance.choice(found)
            Savepoints(chance.choice(stores)).create(free[0], chosen, INPUTS)
            expected[free[0]] = chosen.epoch

    def forget() -> None:
        if expected:
            chosen = chance.choice(sorted(expected))
            Savepoints(chance.choice(stores)).delete(chosen)
            del expected[chosen]

    def collect_once() -> None:
        chance.choice(stores).collect_garbage(Retention(count=2, age_ms=0), wall_ms(1))

    def wait() -> None:
        age(root, chance.choice([GRACE_MS // 3, 2 * GRACE_MS]))

    actions: list[Callable[[], None]] = [snapshot, snapshot, name, forget, collect_once, collect_once, wait, wait]
    for _ in range(40):
        chance.choice(actions)()
    savepoints = Savepoints(SnapshotStore(str(root)))
    assert savepoints.list().names == tuple(sorted(expected)), f"seed {seed}"
    for one, its_epoch in expected.items():
        savepoints.restore(savepoints.get(one), tmp_path / f"target-{one}")
        assert contents(tmp_path / f"target-{one}") == contents(tmp_path / str(its_epoch)), f"seed {seed}"
