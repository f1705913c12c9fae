"""Whatever the store does, the job goes on and can be stopped; a snapshot that fails is reported."""

from __future__ import annotations

import errno
import threading
import time
from pathlib import Path

import pytest

from tandem.snapshots import snapshotter as module
from unit.snapshots.snapshot_builders import Faults, epoch_files, fill
from unit.snapshots.snapshotting import DEADLINE_S, DEFAULTS, INTERVAL_MS, Clock, Start, newest, until


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


def test_a_checkpoint_that_cannot_be_looked_at_for_a_moment_ends_no_later_snapshot(
    start: Start, root: Path, clock: Clock, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    replica = start()
    with monkeypatch.context() as patched:
        patched.setattr(module, "find_newest", fails)
        replica.publish(1)
        until(lambda: any("Too many open files" in line for line in warnings), "a warning")
        until(lambda: replica.snapshotter.is_waiting, "the try to end")
    clock.now_ms += INTERVAL_MS
    replica.publish(2)
    until(lambda: newest(root) == 2, "a snapshot")


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
    sending, go_on = faults.hold_contents(DEADLINE_S)
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
