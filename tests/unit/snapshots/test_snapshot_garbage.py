"""What no snapshot needs goes away, and never under the hands of somebody who reads or writes."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from tandem.snapshots import Retention, SnapshotFile, SnapshotManifest, SnapshotStore, SnapshotStoreError
from tandem.snapshots.garbage import to_retire
from tandem.snapshots.values import hash_of
from unit.snapshots.garbage_world import World
from unit.snapshots.snapshot_builders import GRACE_MS, NOW_MS, ONE, Contents, Faults, age, contents, fill, head, wall_ms


@pytest.fixture
def store(root: Path) -> SnapshotStore:
    """A store that keeps for an hour what nothing names."""
    return SnapshotStore(f"faulty://{root}", grace_ms=GRACE_MS)


def files(root: Path, folder: str) -> set[str]:
    return {path.name for path in (root / folder).rglob("*") if path.is_file()} if (root / folder).exists() else set()


def save(store: SnapshotStore, folder: Path, epoch: int, more: Contents | None = None) -> SnapshotManifest:
    """A snapshot with a file that all have and one of its own."""
    made = fill(folder / str(epoch), {"metadata": b"m", f"offsets/{epoch}": b"%d" % epoch, **(more or {})})
    return store.save(head(epoch, taken_at_ms=wall_ms()), made)


def usable(root: Path, manifest: SnapshotManifest, target: Path) -> bool:
    SnapshotStore(str(root)).restore(manifest, target)
    return True


def test_the_newest_and_the_young_are_retained() -> None:
    manifests = [_taken(epoch, NOW_MS - ago) for epoch, ago in ((9, 500), (8, 400), (7, 300), (6, 100), (5, 301))]

    assert [m.epoch for m in to_retire(manifests, Retention(count=2, age_ms=300), NOW_MS)] == [5]
    assert [m.epoch for m in to_retire(manifests, Retention(count=1, age_ms=0), NOW_MS)] == [8, 7, 6, 5]
    assert to_retire(manifests, Retention(count=9, age_ms=0), NOW_MS) == []


def test_what_a_job_left_that_was_deleted_takes_no_place_of_the_one_that_followed() -> None:
    left = [_taken(epoch, NOW_MS - 5_000 - epoch, "before") for epoch in (900, 800, 700)]
    mine = [_taken(epoch, NOW_MS - 1_000 - ago) for epoch, ago in ((3, 0), (2, 10), (1, 20))]
    for retention, names in ((3, left), (2, [*left, mine[2]])):
        assert to_retire([*left, *mine], Retention(count=retention, age_ms=0), NOW_MS) == names
    assert to_retire([*left, *mine[:1]], Retention(count=2, age_ms=0), NOW_MS) == left[:2], "the newest of them stays"


def _taken(epoch: int, at_ms: int, config: str = "c") -> SnapshotManifest:
    return SnapshotManifest(
        **asdict(head(epoch, at_ms, config=config)), files=(SnapshotFile("a", hash_of(b""), 0, "00000000"),)
    )


def test_at_least_one_snapshot_is_retained() -> None:
    with pytest.raises(ValueError, match="keep at least 1"):
        Retention(count=0)


def test_a_snapshot_goes_first_and_what_only_it_names_a_grace_period_later(
    store: SnapshotStore, root: Path, tmp_path: Path
) -> None:
    save(store, tmp_path, 1)
    new = save(store, tmp_path, 2)
    age(root, 2 * GRACE_MS)

    collected = store.collect_garbage(ONE, wall_ms(1))
    assert (collected.retired, collected.removed) == (1, 0)
    assert store.list() == (new,)
    assert len(files(root, "objects")) == 3

    age(root, GRACE_MS + 1_000)
    collected = store.collect_garbage(ONE, wall_ms(1))
    assert (collected.retired, collected.removed, collected.removed_bytes) == (0, 1, 1)
    assert files(root, "objects") == {file.object_path.rpartition("/")[2] for file in new.files}
    assert files(root, "manifests") == {new.name}


def test_what_an_upload_left_that_was_torn_goes_after_the_grace_period(
    store: SnapshotStore, root: Path, tmp_path: Path, faults: type[Faults]
) -> None:
    kept = save(store, tmp_path, 1)
    fail(faults, "name", "manifests")
    with pytest.raises(SnapshotStoreError):
        save(store, tmp_path, 2)
    fill(root, {"incoming/half": b"ha"})
    faults.heal()

    assert store.collect_garbage(ONE, wall_ms()).removed == 0
    age(root, GRACE_MS + 1_000)
    assert store.collect_garbage(ONE, wall_ms()).removed == 2
    assert store.list() == (kept,)
    assert usable(root, kept, tmp_path / "target")


def fail(faults: type[Faults], operation: str, where: str) -> None:
    def hook(happens: str, path: str) -> None:
        if happens == operation and f"/{where}/" in path:
            raise ConnectionError("gone")

    faults.set(hook)


def test_a_torn_manifest_goes_after_the_grace_period(
    store: SnapshotStore, root: Path, tmp_path: Path, warnings: list[str]
) -> None:
    kept = save(store, tmp_path, 1)
    fill(root, {f"manifests/{head(2).name}": b'{"version": 1'})

    store.collect_garbage(ONE, wall_ms())
    assert files(root, "manifests") == {kept.name, head(2).name}
    age(root, GRACE_MS + 1_000)
    store.collect_garbage(ONE, wall_ms())
    assert files(root, "manifests") == {kept.name}
    assert warnings


def test_beside_a_manifest_of_a_later_version_nothing_is_removed(
    store: SnapshotStore, root: Path, tmp_path: Path, warnings: list[str]
) -> None:
    kept = save(store, tmp_path, 1)
    fill(root, {f"manifests/{head(2).name}": b'{"version": 2}', "objects/ab/ab-00000000": b"of the later version"})
    age(root, 9 * GRACE_MS)

    assert store.collect_garbage(ONE, wall_ms()).removed == 0
    assert "ab-00000000" in files(root, "objects")
    assert any("garbage_left" in line and "version 2" in line for line in warnings)
    assert usable(root, kept, tmp_path / "target")


@pytest.mark.parametrize("where", ["manifests", "incoming", "objects"])
def test_if_the_store_cannot_be_listed_nothing_is_removed(
    store: SnapshotStore, root: Path, tmp_path: Path, faults: type[Faults], where: str
) -> None:
    kept = save(store, tmp_path, 1)
    fill(root, {"incoming/half": b"ha"})
    age(root, 9 * GRACE_MS)
    before = contents(root)

    def hook(happens: str, path: str) -> None:
        if happens == "list" and f"/{where}" in path:
            raise OSError(5, "Input/output error")

    faults.set(hook)
    with pytest.raises(SnapshotStoreError, match=f"cannot list {where}"):
        store.collect_garbage(ONE, wall_ms())
    assert contents(root) == before
    assert usable(root, kept, tmp_path / "target")


def test_a_reader_finishes_though_its_snapshot_is_collected_meanwhile(
    store: SnapshotStore, root: Path, tmp_path: Path
) -> None:
    found = save(store, tmp_path, 1)
    age(root, 9 * GRACE_MS)
    save(store, tmp_path, 2)
    for _ in range(3):
        store.collect_garbage(ONE, wall_ms(GRACE_MS - 60_000))

    assert found not in store.list()
    assert usable(root, found, tmp_path / "target")


def at_first(faults: type[Faults], operation: str, where: str, happens: Callable[[], object]) -> None:
    """Let something happen before the first such operation."""
    waiting = [happens]

    def hook(done: str, path: str) -> None:
        if waiting and done == operation and f"/{where}/" in path:
            waiting.pop()()

    faults.set(hook)


def test_a_writer_keeps_what_it_relies_on_though_it_is_collected_meanwhile(
    store: SnapshotStore, root: Path, tmp_path: Path, faults: type[Faults]
) -> None:
    shared: Contents = {"table": b"shared"}
    save(store, tmp_path, 1, shared)
    age(root, 9 * GRACE_MS)
    collector = SnapshotStore(str(root), grace_ms=GRACE_MS)

    def supersede() -> None:
        """Another replica's snapshot without the table retires the one that the writer relies on."""
        save(collector, tmp_path / "other", 2)
        collector.collect_garbage(ONE, wall_ms())
        collector.collect_garbage(ONE, wall_ms(GRACE_MS // 2))

    at_first(faults, "name", "objects", supersede)
    written = save(store, tmp_path, 3, shared)
    collector.collect_garbage(ONE, wall_ms(GRACE_MS + 60_000))

    assert collector.list() == (written,)
    assert usable(root, written, tmp_path / "target")


def test_a_collector_that_sleeps_before_it_deletes_cannot_hit_a_content_that_came_back(
    store: SnapshotStore, root: Path, tmp_path: Path, faults: type[Faults], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same content is sent again between a collector's decision to remove it and the removal."""
    monkeypatch.setattr("tandem.snapshots.store._WRITERS", 1)  # no removal before the writer is done
    back: Contents = {"table": b"comes and goes"}
    save(store, tmp_path, 1, back)
    save(store, tmp_path, 2)
    store.collect_garbage(ONE, wall_ms(1))
    age(root, 2 * GRACE_MS)
    written: list[SnapshotManifest] = []
    writer = SnapshotStore(str(root), grace_ms=GRACE_MS)
    at_first(faults, "remove", "objects", lambda: written.append(save(writer, tmp_path, 3, back)))

    assert store.collect_garbage(ONE, wall_ms(1)).removed == 2

    assert usable(root, written[0], tmp_path / "target")


def test_a_writer_that_was_too_slow_gives_up_rather_than_rely_on_what_may_be_gone(root: Path, tmp_path: Path) -> None:
    clock = iter([0.0, 0.0, 0.0, GRACE_MS / 2])
    store = SnapshotStore(str(root), grace_ms=GRACE_MS, clock_ms=lambda: next(clock))

    with pytest.raises(SnapshotStoreError, match="saving took longer than 1800 s"):
        save(store, tmp_path, 1)
    assert store.list() == ()


def test_what_a_writer_sent_long_ago_for_nothing_is_not_relied_on(
    root: Path, tmp_path: Path, faults: type[Faults]
) -> None:
    now = [0.0]
    store = SnapshotStore(f"faulty://{root}", grace_ms=GRACE_MS, clock_ms=lambda: now[0])
    fail(faults, "name", "manifests")
    with pytest.raises(SnapshotStoreError):
        save(store, tmp_path, 1)
    now[0] = GRACE_MS / 2
    age(root, GRACE_MS // 2)
    collector = SnapshotStore(str(root), grace_ms=GRACE_MS)
    at_first(faults, "name", "manifests", lambda: collector.collect_garbage(ONE, wall_ms(GRACE_MS // 2 + 60_000)))

    written = save(store, tmp_path, 1)

    assert usable(root, written, tmp_path / "target")


@pytest.mark.parametrize("seed", range(20))
def test_every_listed_snapshot_can_be_restored_whoever_writes_collects_and_fails(
    root: Path, tmp_path: Path, faults: type[Faults], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Two replicas write and collect at random, also in the midst of each other's work, while time passes."""
    monkeypatch.setattr("tandem.snapshots.store._WRITERS", 1)  # one order of events for each seed
    chance = random.Random(seed)
    world = World(root, tmp_path, chance)
    for _ in range(25):
        faults.set(world.interfere)
        world.turn()
        faults.heal()
        world.wait(chance.choice([0, 0.3, 0.6, 1.2]))
        for listed in SnapshotStore(str(root)).list():
            target = tmp_path / "target" / str(world.restored)
            assert usable(root, listed, target)
            world.restored += 1
    assert world.restored > 20
