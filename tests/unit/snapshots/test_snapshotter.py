"""When snapshots are taken while the job runs: the first one at once, and each later one when its time has come."""

from __future__ import annotations

import time
from pathlib import Path

from tandem.checkpoint.position import EnginePosition
from tandem.snapshots import Retention, SnapshotStore, SnapshotterSettings
from unit.snapshots.snapshot_builders import contents, epoch_files, fill, head
from unit.snapshots.snapshotting import INTERVAL_MS, Clock, Replica, Start, newest, taken_by, until


def test_the_first_epoch_that_is_offered_is_taken_whole(start: Start, root: Path, tmp_path: Path, clock: Clock) -> None:
    replica = start()
    replica.publish(1)
    until(lambda: newest(root) == 1, "a snapshot of epoch 1")

    (manifest,) = SnapshotStore(str(root)).list()
    assert (manifest.log_offset, manifest.digest, manifest.taken_at_ms) == (10, "digest of 1", clock.now_ms)
    assert SnapshotStore(str(root)).newest_usable(1, "c", tmp_path / "target") == EnginePosition(1, 10)
    assert contents(tmp_path / "target")["state/0/0/2.changelog"] == b"changes of 1"
    until(lambda: replica.is_idle, "the links are removed")


def test_the_next_one_is_taken_when_the_interval_has_passed(start: Start, root: Path, clock: Clock) -> None:
    replica = start()
    replica.publish(1)
    until(lambda: newest(root) == 1 and replica.snapshotter.is_waiting, "a snapshot of epoch 1")
    clock.now_ms += INTERVAL_MS // 2
    replica.publish(2)
    assert replica.snapshotter.is_waiting
    clock.now_ms += INTERVAL_MS // 2
    replica.publish(3)
    until(lambda: newest(root) >= 2, "the next snapshot, of what was published last when its time came")

    assert len(taken_by(root)) == 2


def test_the_last_epoch_before_the_job_has_no_more_input_is_taken_too(tmp_path: Path, root: Path) -> None:
    clock_s = time.monotonic
    settings = SnapshotterSettings(interval_ms=200)
    replica = Replica("replica-0", tmp_path, root, lambda: round(clock_s() * 1000), settings)
    try:
        replica.publish(1)
        until(lambda: newest(root) == 1, "a snapshot of epoch 1")
        replica.publish(2)
        until(lambda: newest(root) == 2, "a snapshot of epoch 2, though nothing follows it")
        until(lambda: replica.snapshotter.is_waiting, "nothing more is due")
        assert [epoch for epoch, _ in taken_by(root)] == [2, 1]
    finally:
        replica.snapshotter.stop()


def test_a_clock_that_is_set_back_does_not_put_the_next_one_off(start: Start, root: Path, clock: Clock) -> None:
    settings = SnapshotterSettings(INTERVAL_MS, Retention(count=2, age_ms=0), collect_every_ms=INTERVAL_MS)
    replica = start(settings=settings)
    replica.publish(1)
    until(lambda: newest(root) == 1 and replica.snapshotter.is_waiting, "a snapshot of epoch 1")
    clock.now_ms -= 3_600_000
    for epoch in (2, 3, 4):  # the first one at once
        replica.publish(epoch)
        until(lambda: replica.snapshotter.is_waiting, "the snapshot")
        assert newest(root) == epoch
        replica.publish(epoch + 1)
        assert replica.snapshotter.is_waiting, "the interval has not passed"
        clock.now_ms += INTERVAL_MS

    assert [epoch for epoch, _ in taken_by(root)] == [4, 3, 1], "2 is retired; 1 is from the future, and not old yet"


def test_a_snapshot_of_another_state_puts_none_off(start: Start, root: Path, tmp_path: Path, clock: Clock) -> None:
    other = head(900, clock.now_ms - 1, config="before")
    SnapshotStore(str(root)).save(other, fill(tmp_path / "other", epoch_files(900)))
    one, two = start("replica-0"), start("replica-1")
    one.publish(1)
    until(lambda: (1, "j.replica-0.1a") in taken_by(root), "its first one")
    fill(two.checkpoint, epoch_files(1))
    two.snapshotter.offer_of_another(1)
    until(lambda: two.snapshotter.is_waiting, "it has looked")
    assert len(taken_by(root)) == 2, "one snapshot is enough"


def test_an_epoch_that_spark_commits_a_little_later_is_waited_for(start: Start, root: Path, clock: Clock) -> None:
    replica = start()
    for path in ("offsets/0", "commits/0"):
        (replica.checkpoint / path).unlink()
    replica.snapshotter.offer(0)
    until(lambda: replica.snapshotter.is_waiting, "it has seen that there is nothing yet")
    fill(replica.checkpoint, epoch_files(0))
    clock.now_ms += INTERVAL_MS // 10
    until(lambda: newest(root) == 0, "a snapshot of epoch 0")


def test_state_after_an_epoch_that_is_not_published_is_not_taken(start: Start, root: Path) -> None:
    replica = start()
    fill(replica.checkpoint, epoch_files(2))
    replica.publish(1)
    until(lambda: newest(root) == 1, "a snapshot of epoch 1")


def test_old_snapshots_go_while_new_ones_are_taken(start: Start, root: Path, clock: Clock) -> None:
    settings = SnapshotterSettings(INTERVAL_MS, Retention(count=2, age_ms=0), collect_every_ms=INTERVAL_MS)
    replica = start(settings=settings)
    for epoch in range(1, 6):
        replica.publish(epoch)
        until(lambda: replica.snapshotter.is_waiting, "the snapshot")
        assert newest(root) == epoch
        clock.now_ms += INTERVAL_MS

    assert [epoch for epoch, _ in taken_by(root)] == [5, 4]


def test_a_snapshot_from_the_far_future_is_one_of_a_wrong_clock(
    start: Start, root: Path, tmp_path: Path, clock: Clock
) -> None:
    SnapshotStore(str(root)).save(head(0, clock.now_ms + 3_600_000), fill(tmp_path / "x", {"a": b"a"}))
    start().publish(1)
    until(lambda: newest(root) == 1, "a snapshot of epoch 1")
