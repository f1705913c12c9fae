"""The thread of a replica's steps lets its producer rest, or get ready, while there is nothing to do."""

import threading
from typing import cast

import pytest

from tandem.core.events import Done, Failed
from tandem.kafka.fencing import Fencer
from tandem.kafka.watching import Troubles
from tandem.protocol.actions import RenewProducer
from tandem.replica import steps
from tandem.replica.epoch_writer import EpochWriter
from tandem.replica.failure import FirstFailure
from tandem.replica.reader import LogReader
from tandem.replica.steps import Job, StepPorts, Steps


class RestedWriter:
    def __init__(self) -> None:
        self.rested = threading.Semaphore(0)
        self.deeds: list[str] = []
        self.is_ready = threading.Event()

    def rest(self) -> None:
        self.rested.release()

    def renew(self, _timeout_s: float) -> None:
        self.deeds.append("renewed")

    def ready(self) -> None:
        self.deeds.append("ready")
        self.is_ready.set()


def test_what_the_producer_has_to_say_does_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "_REST_S", 0.01)
    writer = RestedWriter()
    ports = StepPorts(cast(Fencer, None), cast(EpochWriter, writer), cast(Troubles, None))
    thread = Steps(ports, cast(LogReader, None), lambda _: None, FirstFailure())
    thread.start()

    assert all(writer.rested.acquire(timeout=10.0) for _ in range(3))
    thread.stop()


def test_what_the_next_epoch_needs_is_done_behind_the_last_step_that_is_there() -> None:
    writer, reports = RestedWriter(), list[Done | Failed]()
    ports = StepPorts(cast(Fencer, None), cast(EpochWriter, writer), cast(Troubles, None))

    def report(end: Done | Failed) -> None:
        reports.append(end)
        writer.deeds.append("reported")

    thread = Steps(ports, cast(LogReader, None), report, FirstFailure())
    for _ in range(2):
        thread.do(Job(RenewProducer(), head=1))
    thread.start()

    assert writer.is_ready.wait(timeout=10.0)
    thread.stop()
    assert writer.deeds == ["renewed", "reported", "renewed", "reported", "ready"]
