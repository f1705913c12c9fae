"""Snapshots are taken while the job runs, one replica at a time; whatever the store does, the job goes on."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tandem.checkpoint.position import EnginePosition
from tandem.snapshots import (
    Retention,
    SnapshotIdentity,
    SnapshotStore,
    Snapshotter,
    SnapshotterSettings,
)
from tandem.snapshots.turn import Turn
from tandem.waiting import Deadline, wait_until
from tandem.waits import Waits
from unit.snapshots.snapshot_builders import NOW_MS, Faults, checkpoint, contents, epoch_files, fill, head

INTERVAL_MS = 5_000
DEFAULTS = SnapshotterSettings()
DEADLINE_S = 20.0


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition that other threads bring about."""
    assert wait_until(condition, Deadline(DEADLINE_S), 0.005), f"not within {DEADLINE_S:.0f} s: {what}"


class Clock:
    """Wall clock of all replicas of a test."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS

    def __call__(self) -> int:
        return self.now_ms


class Replica:
    """A replica with its checkpoint and its snapshotter."""

    def __init__(
        self, name: str, folder: Path, root: Path, clock: Callable[[], int], settings: SnapshotterSettings
    ) -> None:
        self.waits = Waits(0.0)
        self.checkpoint = checkpoint(folder / name / "checkpoint", last=0)
        self.snapshotter = Snapshotter(
            SnapshotStore(f"faulty://{root}"),
            SnapshotIdentity("j", f"j.{name}.1a", "c", "spark 4.3.0, rocksdb-changelog"),
            self.checkpoint,
            settings,
            clock,
            task=self.waits.task(beside=True),
        )
        self.snapshotter.start()

    def publish(self, epoch: int) -> None:
        """Commit an epoch and offer it."""
        fill(self.checkpoint, epoch_files(epoch))
        self.snapshotter.offer(epoch, f"digest of {epoch}")

    @property
    def is_idle(self) -> bool:
        """Whether nothing is kept for a snapshot under way."""
        return not (self.checkpoint.parent / "checkpoint-snapshot").exists()


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock()


Start = Callable[..., Replica]


@pytest.fixture
def start(tmp_path: Path, root: Path, clock: Clock) -> Iterator[Start]:
    """Starts replicas, which are stopped at the end of the test."""
    with ExitStack() as running:

        def starter(name: str = "replica-0", settings: SnapshotterSettings = DEFAULTS) -> Replica:
            replica = Replica(name, tmp_path, root, clock, settings)
            running.callback(replica.snapshotter.stop)
            return replica

        yield starter


def newest(root: Path) -> int:
    """The epoch of the newest snapshot."""
    manifest = SnapshotStore(str(root)).newest()
    return -1 if manifest is None else manifest.epoch


def taken_by(root: Path) -> list[tuple[int, str]]:
    return [(manifest.epoch, manifest.incarnation) for manifest in SnapshotStore(str(root)).list()]


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
    sending, go_on = threading.Event(), threading.Event()

    def hook(operation: str, path: str) -> None:
        if operation == "name" and "/objects/" in path:
            sending.set()
            assert go_on.wait(DEADLINE_S)

    faults.set(hook)
    one, other = start("replica-0"), start("replica-1")
    one.publish(1)
    assert sending.wait(DEADLINE_S)
    other.publish(1)
    until(lambda: other.snapshotter.is_waiting, "the other one to see that it is not its turn")
    assert not one.snapshotter.is_waiting
    go_on.set()
    until(lambda: newest(root) == 1 and one.snapshotter.is_waiting, "a snapshot of epoch 1")
    assert taken_by(root) == [(1, "j.replica-0.1a")]


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


@pytest.mark.parametrize("error", [ConnectionError("no route"), OSError(errno.ENOSPC, "No space left on device")])
def test_a_store_that_is_away_or_full_is_warned_about_once_and_tried_again(
    start: Start, root: Path, clock: Clock, faults: type[Faults], warnings: list[str], error: OSError
) -> None:
    tries: list[int] = []

    def hook(operation: str, _path: str) -> None:
        if operation == "write":
            tries.append(clock.now_ms)
            raise error

    faults.set(hook)
    replica = start()
    for epoch in (1, 2, 3):
        replica.publish(epoch)
        until(lambda: replica.snapshotter.is_waiting, "the try to end")
        assert tries[-1] == clock.now_ms
        replica.publish(epoch)
        clock.now_ms += INTERVAL_MS
    failed = [line for line in warnings if line.startswith("snapshot_failed")]
    assert len(failed) == 1
    assert str(error.args[-1]) in failed[0]
    assert "the job goes on" in failed[0]
    assert len(set(tries)) >= 3

    until(lambda: replica.snapshotter.is_waiting, "the last try to end")
    faults.heal()
    clock.now_ms += INTERVAL_MS
    replica.publish(4)
    until(lambda: newest(root) >= 3, "a snapshot when the store is back")


def test_a_state_that_cannot_be_taken_is_warned_about(start: Start, root: Path, warnings: list[str]) -> None:
    replica = start()
    (replica.checkpoint / "state/0/0/1.changelog").unlink()
    replica.publish(1)
    until(lambda: any("state/0/0: version 1 of 2 is missing" in line for line in warnings), "a warning")
    assert newest(root) == -1


def test_a_snapshot_that_does_not_come_about_is_named_until_one_does(
    start: Start, clock: Clock, faults: type[Faults]
) -> None:
    answers = threading.Event()

    def hangs(operation: str, _path: str) -> None:
        if operation == "write":
            assert answers.wait(DEADLINE_S)
            raise OSError("no answer from the store")

    faults.set(hangs)
    replica = start()

    def says(words: str) -> bool:
        return replica.waits.words_beside.startswith(words)

    replica.publish(1)
    until(lambda: says("the next snapshot: an answer of the snapshot store"), "a store that hangs")
    answers.set()
    until(lambda: says("the next snapshot: it failed: ") and replica.snapshotter.is_waiting, "one that fails")
    assert "no answer from the store" in replica.waits.words_beside

    faults.heal()
    clock.now_ms += DEFAULTS.interval_ms
    replica.publish(2)
    until(lambda: replica.waits.words_beside == "", "a snapshot")


def test_stopping_does_not_wait_for_a_store_that_hangs(start: Start, faults: type[Faults], warnings: list[str]) -> None:
    hanging, let_go = threading.Event(), threading.Event()

    def hook(operation: str, _path: str) -> None:
        if operation == "write" and not let_go.is_set():
            hanging.set()
            let_go.wait(DEADLINE_S)

    faults.set(hook)
    replica = start()
    replica.publish(1)
    assert hanging.wait(DEADLINE_S)
    began = time.monotonic()
    replica.snapshotter.stop(timeout_s=0.1)
    assert time.monotonic() - began < 5
    assert any(line.startswith("snapshot_abandoned") for line in warnings)
    let_go.set()


def test_stopping_gives_up_a_snapshot_between_two_files(start: Start, root: Path, faults: type[Faults]) -> None:
    sending, go_on = threading.Event(), threading.Event()

    def hook(operation: str, path: str) -> None:
        if operation == "name" and "/objects/" in path:
            sending.set()
            assert go_on.wait(DEADLINE_S)

    faults.set(hook)
    replica = start()
    for epoch in range(1, 9):
        fill(replica.checkpoint, epoch_files(epoch))
    replica.publish(9)
    assert sending.wait(DEADLINE_S)
    replica.snapshotter.stop(timeout_s=0)
    go_on.set()
    replica.snapshotter.stop()

    assert newest(root) == -1
    assert replica.is_idle


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


def commit(replica: Replica, batch: int, epoch: int) -> None:
    """Its query commits a batch whose last epoch is `epoch`."""
    files = epoch_files(batch)
    text = files[f"offsets/{batch}"].replace(
        b'"epoch":%d,"log":%d' % (batch, 10 * batch), b'"epoch":%d,"log":%d' % (epoch, 10 * epoch)
    )
    fill(replica.checkpoint, files | {f"offsets/{batch}": text})


def test_with_barriers_a_snapshot_is_of_the_newest_one_that_is_published(
    start: Start, root: Path, tmp_path: Path
) -> None:
    replica = start()
    commit(replica, 1, 700)
    commit(replica, 2, 1_400)
    replica.snapshotter.offer(1_399)
    until(lambda: newest(root) == 700, "a snapshot of the first barrier")
    (manifest,) = SnapshotStore(str(root)).list()
    assert (manifest.log_offset, manifest.last_batch) == (7_000, 1)
    assert SnapshotStore(str(root)).newest_usable(2_000, "c", tmp_path / "target") == EnginePosition(700, 7_000)
    assert "state/0/0/2.changelog" in contents(tmp_path / "target")
    assert "state/0/0/3.changelog" not in contents(tmp_path / "target")


def test_before_the_first_barrier_there_is_nothing_to_take_and_nothing_to_warn_about(
    start: Start, root: Path, clock: Clock, warnings: list[str]
) -> None:
    replica = start()
    commit(replica, 0, 700)
    replica.snapshotter.offer(650)
    until(lambda: replica.snapshotter.is_waiting, "it has seen that there is nothing")
    assert (newest(root), warnings) == (-1, [])
    replica.snapshotter.offer(700)
    clock.now_ms += INTERVAL_MS // 10
    replica.snapshotter.offer(701)
    until(lambda: newest(root) == 700, "a snapshot of the first barrier, soon after it")


def test_a_barrier_is_saved_once_however_many_epochs_are_published_since(
    start: Start, root: Path, clock: Clock
) -> None:
    replica = start()
    commit(replica, 1, 700)
    replica.snapshotter.offer(700)
    until(lambda: newest(root) == 700 and replica.snapshotter.is_waiting, "a snapshot of the barrier")
    taken_ms = SnapshotStore(str(root)).list()[0].taken_at_ms
    for epoch in range(701, 710):
        clock.now_ms += INTERVAL_MS
        replica.snapshotter.offer(epoch)
        until(lambda: replica.snapshotter.is_waiting, "it has seen that there is nothing new")
    assert [manifest.taken_at_ms for manifest in SnapshotStore(str(root)).list()] == [taken_ms]

    commit(replica, 2, 1_400)
    replica.snapshotter.offer(1_400)
    clock.now_ms += INTERVAL_MS // 10
    replica.snapshotter.offer(1_401)
    until(lambda: newest(root) == 1_400, "a snapshot of the next barrier, soon after it")
