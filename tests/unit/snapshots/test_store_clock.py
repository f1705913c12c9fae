"""What is old in the store is so by the store's clock, whatever that of a replica says."""

from __future__ import annotations

import errno
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from tandem.snapshots import Retention, SnapshotStore, SnapshotStoreError, SnapshotterSettings
from tandem.snapshots.store_clock import StoreClock
from unit.snapshots.snapshot_builders import NOW_MS, ONE, Faults, age, checkpoint, fill, head, wall_ms
from unit.snapshots.snapshotting import INTERVAL_MS, Clock, Replica, Start, newest, until


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def _publish(replica: Replica, root: Path, clock: Clock, epoch: int) -> None:
    """The epoch, and wait for its snapshot."""
    replica.publish(epoch)
    until(lambda: newest(root) == epoch and replica.snapshotter.is_waiting, f"a snapshot of epoch {epoch}")
    clock.now_ms += INTERVAL_MS


def test_a_replica_whose_clock_is_ahead_takes_nothing_that_was_just_sent_for_old(
    start: Start, root: Path, clock: Clock, warnings: list[str]
) -> None:
    ahead_ms = 20 * 60_000
    clock.now_ms = wall_ms(ahead_ms)
    replica = start(settings=SnapshotterSettings(INTERVAL_MS, ONE, collect_every_ms=0), has_clock=True)
    fill(root, {"objects/ab/ab-00000000": b"somebody is about to name it"})
    publish = partial(_publish, replica, root, clock)

    publish(1)
    publish(2)
    assert "ab-00000000" in files(root / "objects")
    (said,) = warnings
    assert said.startswith("clocks_differ")
    assert _iso(wall_ms()) in said, "the store's clock, to the hour"
    assert _iso(clock.now_ms) in said

    clock.now_ms = wall_ms()
    publish(3)
    assert "ab-00000000" in files(root / "objects")
    age(root / "objects/ab", 2 * ahead_ms)
    publish(4)
    assert "ab-00000000" not in files(root / "objects")
    assert len(warnings) == 1
    assert not files(root / "incoming")


@pytest.mark.parametrize("off_ms", [-10 * 60_000, 10 * 60_000])
def test_a_store_whose_clock_is_off_is_cleaned_all_the_same(
    start: Start, root: Path, clock: Clock, warnings: list[str], off_ms: int
) -> None:
    clock.now_ms = wall_ms(off_ms)
    retention = Retention(count=1, age_ms=5 * 60_000)
    replica = start(settings=SnapshotterSettings(INTERVAL_MS, retention, collect_every_ms=0), has_clock=True)
    fill(root, {"objects/ab/ab-00000000": b"nobody names it"})
    age(root / "objects/ab", 20 * 60_000)
    publish = partial(_publish, replica, root, clock)

    publish(1)
    publish(2)
    assert "ab-00000000" not in files(root / "objects")
    assert not [name for name in files(root / "manifests") if name.endswith(".retired")], "both are young"
    clock.now_ms += retention.age_ms
    publish(3)
    assert len([name for name in files(root / "manifests") if name.endswith(".retired")]) == 2
    assert len(warnings) == 1


def test_a_store_that_is_so_full_that_it_takes_no_file_is_cleaned(
    root: Path, faults: type[Faults], clock: Clock
) -> None:
    fill(root, {"objects/ab/ab-00000000": b"nobody names it", "objects/cd/cd-00000000": b"just sent"})
    age(root / "objects/ab", 20 * 60_000)
    full = SnapshotStore(f"faulty://{root}")

    def hook(operation: str, path: str) -> None:
        if operation == "write":
            raise OSError(errno.ENOSPC, "No space left on device", path)

    faults.set(hook)
    full.collect_garbage(ONE, StoreClock(full.remote, clock).now())
    assert files(root / "objects") == {"cd-00000000"}


def test_what_a_full_store_takes_no_mark_of_keeps_nothing_else_there(
    root: Path, store: SnapshotStore, faults: type[Faults], tmp_path: Path
) -> None:
    for epoch in (1, 2):
        store.save(head(epoch=epoch), checkpoint(tmp_path / str(epoch), last=epoch))
    fill(root, {"objects/ab/ab-00000000": b"nobody names it"})
    age(root / "objects/ab", 20 * 60_000)

    def hook(operation: str, path: str) -> None:
        if operation == "write":
            raise OSError(errno.ENOSPC, "No space left on device", path)

    faults.set(hook)
    with pytest.raises(SnapshotStoreError, match="No space left"):
        SnapshotStore(f"faulty://{root}").collect_garbage(ONE, wall_ms(1), NOW_MS + 1)
    assert "ab-00000000" not in files(root / "objects")


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="hours").partition("+")[0]
