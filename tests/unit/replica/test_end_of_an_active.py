"""Who still publishes does not look to the others as if it had ended."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import cast

from prometheus_client import CollectorRegistry

from tandem.core.events import Done, Failed
from tandem.kafka.fencing import Fencer
from tandem.kafka.watching import Troubles
from tandem.protocol.actions import Outcome, Publish
from tandem.protocol.values import EpochRange
from tandem.replica.active import take_part
from tandem.replica.epoch_writer import EpochWriter
from tandem.replica.failure import FirstFailure
from tandem.replica.loop import Loop
from tandem.replica.reader import LogReader
from tandem.replica.rows import EpochRows
from tandem.replica.steps import Job, StepPorts, Steps
from tandem.status.metrics import ReplicaMetrics
from unit.replica.looping import LIMIT_S, Looped, NotedSlots


class SlowWriter:
    """Its transaction ends only when the replica is about to end."""

    def __init__(self, done: list[object]) -> None:
        self.metrics = ReplicaMetrics(CollectorRegistry(), "job", "replica-0")
        self.loop: Loop
        self.begun = threading.Event()
        self._done = done

    def write(self, *_: object) -> Outcome:
        self.begun.set()
        assert self.loop.has_ended(LIMIT_S)
        self._done.append("published")
        return Outcome.COMMITTED

    def rest(self) -> None:
        """Nothing."""

    def ready(self) -> None:
        """Nothing."""


def test_the_slot_is_given_up_after_what_is_under_way_was_published() -> None:
    slots = NotedSlots()
    writer, reported = SlowWriter(slots.done), list[Done | Failed]()
    ports = StepPorts(cast(Fencer, None), cast(EpochWriter, writer), cast(Troubles, None))
    steps = Steps(ports, cast(LogReader, None), reported.append, FirstFailure())
    looped = Looped(steps=steps)
    writer.loop = looped.loop
    looped.loop.start()
    steps.do(Job(Publish(3, 0), 3, cast(EpochRows, Rows()), cast(EpochRange, object())))
    assert writer.begun.wait(LIMIT_S)

    with ExitStack() as stack:
        stack.callback(looped.loop.stop)
        take_part(looped.loop, slots, stack)  # type: ignore[arg-type]

    assert slots.done == ["published", "stop"]
    assert looped.done == ["stop"], "the reader, at last"


class Rows:
    """Of an epoch."""

    digest = "d"
