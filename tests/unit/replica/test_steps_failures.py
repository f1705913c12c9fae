"""A step that fails: a pause where the brokers refuse at once; rows that no table took are published later."""

from __future__ import annotations

import queue
import threading
from typing import cast

import pytest
from prometheus_client import CollectorRegistry

from tandem.core.events import Done, Failed
from tandem.engine.foreach_batch import TryAgainError
from tandem.kafka.errors import NotAllowedError
from tandem.kafka.fencing import Fencer
from tandem.kafka.watching import Troubles
from tandem.protocol.actions import Fence, Outcome, Publish, Step
from tandem.protocol.values import EpochRange
from tandem.replica import steps as module
from tandem.replica.epoch_writer import EpochWriter
from tandem.replica.failure import FirstFailure
from tandem.replica.reader import LogReader
from tandem.replica.rows import EpochRows
from tandem.replica.steps import Job, StepPorts, Steps
from tandem.replica.table_access import LaterGenerationError, TableUnreachableError
from tandem.status.metrics import ReplicaMetrics


class Refusing:
    """Kafka and the tables, of which everything fails with `error`."""

    def __init__(self, error: Exception) -> None:
        self.metrics = ReplicaMetrics(CollectorRegistry(), "job", "replica-0")
        self.asked = threading.Event()
        self.reported: queue.SimpleQueue[Done | Failed] = queue.SimpleQueue()
        self._error = error
        ports = StepPorts(cast(Fencer, self), cast(EpochWriter, self), cast(Troubles, self))
        self.steps = Steps(ports, cast(LogReader, self), self.reported.put, FirstFailure())

    def fence(self, _owner: str, _timeout_s: float) -> None:
        self._fail()

    def write(self, *_: object) -> Outcome:
        self._fail()
        raise AssertionError

    def ready(self) -> None:
        """Nothing is to be published."""

    def failed_as(self, _what: str, _reason: str) -> None:
        """Nobody asks here."""

    def _fail(self) -> None:
        self.asked.set()
        raise self._error

    def do(self, step: Step) -> None:
        self.steps.do(Job(step, 0, cast(EpochRows, object()), cast(EpochRange, object())))
        self.steps.start()
        assert self.asked.wait(10.0)


def test_what_the_brokers_refuse_at_once_is_not_asked_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE_S", 60.0)
    refusing = Refusing(NotAllowedError("no rights"))
    refusing.do(Fence(("b",)))
    with pytest.raises(queue.Empty):
        refusing.reported.get(timeout=0.2)
    refusing.steps.stop()  # ends the pause
    assert isinstance(refusing.reported.get(timeout=10.0), Failed)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (TableUnreachableError("away"), Outcome.NOTHING_SENT),
        (LaterGenerationError("later"), Outcome.NOTHING_SENT),
        (TryAgainError("the function has perhaps done something"), Outcome.UNKNOWN),
    ],
    ids=lambda value: type(value).__name__,
)
def test_rows_that_no_table_took_are_published_later_also_at_most_once(
    error: Exception, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSE_S", 0.0)
    refusing = Refusing(error)
    refusing.do(Publish(0, 0))
    end = refusing.reported.get(timeout=10.0)
    refusing.steps.stop()
    assert isinstance(end, Done)
    assert end.outcome is outcome
