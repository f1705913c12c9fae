"""One replica at a time takes a snapshot: whose turn it is, and for how long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tandem.snapshots import SnapshotStore
from tandem.snapshots.turn import Turn
from unit.snapshots.snapshot_builders import Faults, epoch_files, fill
from unit.snapshots.snapshotting import DEADLINE_S, INTERVAL_MS, Clock, Replica, Start, newest, taken_by, until


def test_what_another_replica_has_just_taken_is_not_taken_again(start: Start, root: Path, clock: Clock) -> None:
    one, other = start("replica-0"), start("replica-1")
    one.publish(1)
    until(lambda: newest(root) == 1 and one.is_idle, "a snapshot of epoch 1")
    clock.now_ms += INTERVAL_MS // 2
    for epoch in (1, 2):
        other.publish(epoch)
    clock.now_ms += INTERVAL_MS // 2

    def offered_until_taken() -> bool:
        other.snapshotter.offer(2, "digest of 2")
        return newest(root) == 2

    until(offered_until_taken, "a snapshot of epoch 2")
    assert taken_by(root) == [(2, "j.replica-1.1a"), (1, "j.replica-0.1a")]


def test_while_one_replica_takes_a_snapshot_no_other_does(start: Start, root: Path, faults: type[Faults]) -> None:
    sending, go_on = faults.hold_contents(DEADLINE_S)
    one, other = start("replica-0"), start("replica-1")
    one.publish(1)
    assert sending.wait(DEADLINE_S)
    other.publish(1)
    until(lambda: other.snapshotter.is_waiting, "the other one to see that it is not its turn")
    assert not one.snapshotter.is_waiting
    go_on.set()
    until(lambda: newest(root) == 1 and one.snapshotter.is_waiting, "a snapshot of epoch 1")
    assert taken_by(root) == [(1, "j.replica-0.1a")]


def computed(replica: Replica, last: int) -> None:
    """It has committed the epochs up to `last`, and has published none of them."""
    for epoch in range(1, last + 1):
        fill(replica.checkpoint, epoch_files(epoch))


def test_a_replica_that_does_not_publish_steps_in_where_who_does_takes_no_snapshots(
    start: Start, root: Path, clock: Clock
) -> None:
    one, other = start("replica-0"), start("replica-1")
    one.publish(1)
    until(lambda: newest(root) == 1 and one.is_idle, "a snapshot of epoch 1")
    one.snapshotter.stop()
    computed(other, 2)

    for _ in range(2):
        clock.now_ms += INTERVAL_MS
        other.snapshotter.offer_of_another(2)
        until(lambda: other.snapshotter.is_waiting, "it has looked")
    assert taken_by(root) == [(1, "j.replica-0.1a")], "it is the turn of who publishes"

    clock.now_ms += INTERVAL_MS
    other.snapshotter.offer_of_another(2)
    until(lambda: newest(root) == 2, "a snapshot of the other one")


def test_a_replica_that_catches_up_takes_none_that_is_older_than_the_newest(
    start: Start, root: Path, clock: Clock
) -> None:
    one, other = start("replica-0"), start("replica-1")
    computed(one, 4)
    one.publish(5)
    until(lambda: newest(root) == 5, "a snapshot of epoch 5")
    clock.now_ms += 100 * INTERVAL_MS
    computed(other, 3)
    other.snapshotter.offer_of_another(3)
    until(lambda: other.snapshotter.is_waiting, "it has looked")
    assert taken_by(root) == [(5, "j.replica-0.1a")]


def test_what_was_published_by_a_replica_is_not_forgotten_when_its_marker_is_read(start: Start, root: Path) -> None:
    replica = start()
    computed(replica, 1)
    replica.publish(2)
    replica.snapshotter.offer_of_another(1)
    until(lambda: newest(root) == 2, "a snapshot of epoch 2")
    assert [manifest.digest for manifest in SnapshotStore(str(root)).list()] == ["digest of 2"]


def test_the_turn_of_one_that_died_is_void_after_a_while(root: Path, clock: Clock) -> None:
    remote = SnapshotStore(str(root)).remote
    dead, other = (Turn(remote, name, 30_000, clock) for name in ("dead", "other"))

    assert dead.take()
    clock.now_ms += 29_999
    assert not other.take()
    clock.now_ms += 1
    assert other.take()
    dead.give_back()
    assert not dead.take()
    other.give_back()
    assert dead.take()


def test_a_turn_that_is_renewed_stays(root: Path, clock: Clock) -> None:
    remote = SnapshotStore(str(root)).remote
    one, other = (Turn(remote, name, 30_000, clock) for name in ("one", "other"))

    assert one.take()
    for _ in range(10):
        clock.now_ms += 20_000
        one.renew()
        assert not other.take()


@pytest.mark.parametrize("note", [b"", b"{", b"[]", b'{"who": "x"}', b'{"who": "x", "at": "y"}'])
def test_a_note_that_cannot_be_read_is_nobodys_turn(root: Path, clock: Clock, note: bytes) -> None:
    fill(root, {"taking.json": note})

    assert Turn(SnapshotStore(str(root)).remote, "me", 30_000, clock).take()
