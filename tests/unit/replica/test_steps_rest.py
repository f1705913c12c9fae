"""The thread of a replica's steps lets its producer rest while there is nothing to do."""

import threading
from typing import cast

import pytest

from tandem.kafka.fencing import Fencer
from tandem.kafka.watching import Troubles
from tandem.replica import steps
from tandem.replica.epoch_writer import EpochWriter
from tandem.replica.failure import FirstFailure
from tandem.replica.reader import LogReader
from tandem.replica.steps import StepPorts, Steps


class RestedWriter:
    def __init__(self) -> None:
        self.rested = threading.Semaphore(0)

    def rest(self) -> None:
        self.rested.release()


def test_what_the_producer_has_to_say_does_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "_REST_S", 0.01)
    writer = RestedWriter()
    ports = StepPorts(cast(Fencer, None), cast(EpochWriter, writer), cast(Troubles, None))
    thread = Steps(ports, cast(LogReader, None), lambda _: None, FirstFailure())
    thread.start()

    assert all(writer.rested.acquire(timeout=10.0) for _ in range(3))
    thread.stop()
