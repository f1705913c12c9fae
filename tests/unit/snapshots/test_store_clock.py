"""What is old in the store is so by the store's clock, whatever that of a replica says."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tandem.snapshots import SnapshotterSettings
from unit.snapshots.snapshot_builders import ONE, age, fill, wall_ms
from unit.snapshots.snapshotting import INTERVAL_MS, Clock, Start, newest, until


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def test_a_replica_whose_clock_is_ahead_takes_nothing_that_was_just_sent_for_old(
    start: Start, root: Path, clock: Clock, warnings: list[str]
) -> None:
    ahead_ms = 20 * 60_000
    clock.now_ms = wall_ms(ahead_ms)
    replica = start(settings=SnapshotterSettings(INTERVAL_MS, ONE, collect_every_ms=0), has_clock=True)
    fill(root, {"objects/ab/ab-00000000": b"somebody is about to name it"})

    def publish(epoch: int) -> None:
        replica.publish(epoch)
        until(lambda: newest(root) == epoch and replica.snapshotter.is_waiting, f"a snapshot of epoch {epoch}")
        clock.now_ms += INTERVAL_MS

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


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="hours").partition("+")[0]
