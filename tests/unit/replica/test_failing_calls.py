"""When most calls of a question fail, rows have null for the answers: an operator reads so, and what to do."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest
from structlog.testing import capture_logs

from tandem.local.reported import replica_status
from tandem.local.rundir import ProcessState
from tandem.local.scrape import parse
from tandem.local.screen import progress_line
from tandem.local.status import JobStatus, ReplicaStatus
from tandem.replica.failing_calls import FailingCalls
from tandem.status.metrics import ReplicaMetrics


class Replica:
    """What a replica counts, at times of the test's own."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.registry = CollectorRegistry()
        self.calls = FailingCalls(ReplicaMetrics(self.registry, "orders", "replica-0"), lambda: self.now_s)

    def asks(self, *epochs: tuple[int, int], question: str = "score", every_s: float = 1.0) -> list[str]:
        """Epochs with so many answers, and how many are missing; which events are logged."""
        with capture_logs() as logs:
            for answers, missing in epochs:
                self.now_s += every_s
                self.calls.count(question, answers, missing, "RuntimeError: no model" if missing else "")
        return [str(entry["event"]) for entry in logs]

    @property
    def status(self) -> ReplicaStatus:
        sample = parse(generate_latest(self.registry).decode())
        return replica_status(ProcessState("replica-0", "replica"), sample=sample)


def test_a_service_that_is_away_for_a_moment_is_ordinary() -> None:
    replica = Replica()
    assert replica.asks(*[(20, 0)] * 20, (20, 20), *[(20, 0)] * 20) == []
    assert not replica.status.calls_fail


def test_when_most_answers_are_missing_it_is_said_once_until_it_is_over() -> None:
    replica = Replica()
    assert replica.asks(*[(1, 1)] * 30) == ["most_calls_fail"]
    assert replica.status.calls_fail
    line = progress_line(JobStatus("orders", 0.0, (replica.status,), ()))
    assert "most calls of ctx.ask or ctx.determinant fail, and rows have null for the answers" in line
    assert "the log of replica-0 says which" in line

    assert replica.asks(*[(1, 0)] * 100) == ["calls_succeed_again"]
    assert not replica.status.calls_fail


def test_a_question_that_is_answered_does_not_hide_one_that_is_not() -> None:
    replica = Replica()
    replica.asks(*[(1, 1)] * 30)
    assert replica.asks(*[(500, 0)] * 30, question="other") == []
    assert replica.status.calls_fail


def test_it_is_said_again_every_ten_minutes_while_it_lasts() -> None:
    assert Replica().asks(*[(10, 10)] * 21, every_s=60.0) == ["most_calls_fail"] * 3


def test_a_replica_that_makes_no_calls_any_more_says_nothing_of_them() -> None:
    replica = Replica()
    replica.asks(*[(1, 1)] * 30)
    replica.now_s += 500.0
    assert replica.status.calls_fail
    replica.now_s += 200.0
    assert not replica.status.calls_fail, "another one makes them, and says it"
    replica.asks((1, 1))
    assert replica.status.calls_fail
