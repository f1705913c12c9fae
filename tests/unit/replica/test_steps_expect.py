"""What is needed to fence an owner is connected once, not with each of its claims, and again after it was used."""

from __future__ import annotations

import queue
from typing import cast

import pytest
from confluent_kafka import KafkaError, KafkaException
from prometheus_client import CollectorRegistry

from tandem.core.events import Done, Failed
from tandem.kafka.fencing import Fencer
from tandem.kafka.watching import Troubles
from tandem.protocol.actions import Fence, ReadToEnd
from tandem.replica.epoch_writer import EpochWriter
from tandem.replica.failure import FirstFailure
from tandem.replica.reader import LogReader
from tandem.replica.steps import Job, StepPorts, Steps
from tandem.status.metrics import ReplicaMetrics
from tandem.waiting import Deadline, wait_until


class Bench:
    """The thread, and what it does for its jobs, in its order."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.fails = False
        self.reader_expects = 0
        self.metrics = ReplicaMetrics(CollectorRegistry(), "job", "replica-0")
        self._reported: queue.SimpleQueue[Done | Failed] = queue.SimpleQueue()
        ports = StepPorts(cast(Fencer, self), cast(EpochWriter, self), cast(Troubles, None))
        self.failure = FirstFailure()
        self.steps = Steps(ports, cast(LogReader, self), self._reported.put, self.failure)

    def expect(self, owner: str = "") -> None:
        if owner:
            self.done.append(f"expect {owner}")
            if self.fails:
                raise KafkaException(KafkaError(KafkaError._CRIT_SYS_RESOURCE))
        else:
            self.reader_expects += 1

    def fence(self, owner: str, _timeout_s: float) -> None:
        self.done.append(f"fence {owner}")

    def read_to_end(self, _timeout_s: float) -> None:
        self.done.append("read")

    def ready(self) -> None:
        """There is no epoch to get ready for."""

    def claimed_by(self, *owners: str) -> Bench:
        for owner in owners:
            self.steps.expect(owner)
        return self

    def after(self) -> list[str]:
        """What was done, once the thread has done all."""
        self.steps.do(Job(ReadToEnd(), 0))
        self.steps.start()
        try:
            while not isinstance(self._reported.get(timeout=10.0).step, ReadToEnd):
                pass
        finally:
            self.steps.stop()
        return self.done[:-1]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_an_owner_that_goes_on_is_expected_once(bench: Bench) -> None:
    assert bench.claimed_by("a", "a", "a").after() == ["expect a"]
    assert bench.reader_expects == 1


def test_each_of_two_that_take_turns_is_expected_again_so_that_both_stay_connected(bench: Bench) -> None:
    assert bench.claimed_by("a", "b", "a").after() == ["expect a", "expect b", "expect a"]


def test_one_that_was_fenced_and_claims_again_is_expected_again(bench: Bench) -> None:
    bench.claimed_by("a", "a")
    bench.steps.do(Job(Fence(("a",)), 0))

    assert bench.claimed_by("a", "a").after() == ["expect a", "fence a", "expect a"]


def test_what_cannot_be_connected_beforehand_ends_nothing(bench: Bench) -> None:
    bench.fails = True
    bench.claimed_by("a")
    bench.steps.do(Job(Fence(("a",)), 0))

    assert bench.after() == ["expect a", "fence a"]
    assert bench.reader_expects == 1, "what else was to be connected is"
    assert bench.failure.error is None


def test_it_is_connected_once_more_after_a_while(bench: Bench) -> None:
    bench.fails = True
    bench.claimed_by("a", "a")
    bench.steps.start()
    assert wait_until(lambda: bench.steps._again_s is not None, Deadline(10.0))
    bench.claimed_by("a")
    assert bench.steps._again_s is not None, "not with each claim"

    bench.fails = False
    bench.steps._again_s = 0.0  # a while has passed
    bench.claimed_by("a", "a")
    assert wait_until(lambda: bench.reader_expects == 2, Deadline(10.0))
    bench.steps.stop()
    assert bench.done == ["expect a"] * 2
