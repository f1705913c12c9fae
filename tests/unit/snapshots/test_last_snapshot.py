"""The snapshot that a lane takes when it stops: of what was published last, whenever the one before was taken."""

from __future__ import annotations

import threading
from pathlib import Path

from unit.snapshots.snapshot_builders import epoch_files, fill
from unit.snapshots.snapshotting import Start, newest, taken_by, until

SOON_S = 10.0


def test_the_last_snapshot_waits_for_no_interval(start: Start, root: Path) -> None:
    replica = start()
    replica.publish(1)
    until(lambda: newest(root) == 1 and replica.snapshotter.is_waiting, "a snapshot of epoch 1")
    replica.publish(2)
    assert replica.snapshotter.is_waiting, "the interval has not passed"
    assert replica.snapshotter.take_last(2, SOON_S)
    assert newest(root) == 2


def test_the_last_snapshot_is_of_the_last_epoch_also_if_spark_commits_that_a_little_later(
    start: Start, root: Path
) -> None:
    replica = start()
    replica.publish(1)
    until(lambda: newest(root) == 1 and replica.snapshotter.is_waiting, "a snapshot of epoch 1")
    replica.snapshotter.offer(2, "digest of 2")
    later = threading.Timer(0.5, lambda: fill(replica.checkpoint, epoch_files(2)))
    later.start()
    assert replica.snapshotter.take_last(2, SOON_S)
    later.join()
    assert newest(root) == 2


def test_what_the_store_has_of_another_replica_is_not_taken_again(start: Start, root: Path) -> None:
    first, second = start("replica-0"), start("replica-1")
    for replica in (first, second):
        replica.publish(1)
        assert replica.snapshotter.take_last(1, SOON_S)
    assert [epoch for epoch, _ in taken_by(root)] == [1]


def test_the_last_snapshot_is_also_of_what_others_have_published(start: Start, root: Path) -> None:
    replica = start()
    fill(replica.checkpoint, epoch_files(1))
    assert replica.snapshotter.take_last(1, SOON_S)
    assert newest(root) == 1


def test_where_nothing_is_published_there_is_no_last_snapshot_to_take(start: Start, root: Path) -> None:
    assert start().snapshotter.take_last(-1, SOON_S)
    assert newest(root) == -1


def test_a_last_snapshot_that_cannot_be_taken_is_given_up(start: Start, root: Path) -> None:
    replica = start()
    replica.snapshotter.offer(7)
    assert not replica.snapshotter.take_last(7, 0.5)
    assert newest(root) < 7
