"""Rows that come too late for their watermark are counted, and named where an operator looks when most do."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest
from structlog.testing import capture_logs

from tandem.local.reported import replica_status
from tandem.local.rundir import ProcessState
from tandem.local.scrape import parse
from tandem.local.screen import progress_line
from tandem.local.status import JobStatus, ReplicaStatus
from tandem.replica.late import LateRows
from tandem.status.metrics import ReplicaMetrics


class Replica:
    """What a replica counts, at times of the test's own."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.registry = CollectorRegistry()
        self.late = LateRows(ReplicaMetrics(self.registry, "orders", "replica-0"), lambda: self.now_s)

    def computes(self, *epochs: tuple[int, int], every_s: float = 1.0) -> list[str]:
        """Epochs of so many records and late rows; which events are logged."""
        with capture_logs() as logs:
            for records, late in epochs:
                self.now_s += every_s
                self.late.count(records, late)
        return [str(entry["event"]) for entry in logs]

    @property
    def status(self) -> ReplicaStatus:
        sample = parse(generate_latest(self.registry).decode())
        return replica_status(ProcessState("replica-0", "replica"), sample=sample)


def test_a_few_late_rows_are_ordinary() -> None:
    replica = Replica()

    assert replica.computes(*[(100, 1)] * 100) == ["rows_came_too_late"]
    assert (replica.status.late_rows, replica.status.mostly_late) == (100, False)


def test_when_most_rows_are_late_it_is_said_once_with_what_to_do_until_it_is_over() -> None:
    replica = Replica()

    assert replica.computes(*[(100, 0)] * 30, *[(100, 98)] * 60) == ["rows_came_too_late", "most_rows_come_too_late"]
    assert replica.status.mostly_late
    line = progress_line(JobStatus("orders", 0.0, (replica.status,), ()))
    assert "most rows come too late for their watermark, and are dropped: 5,880 so far" in line
    assert replica.computes(*[(100, 0)] * 60) == []
    assert not replica.status.mostly_late


def test_it_is_said_again_every_ten_minutes_while_it_lasts() -> None:
    assert Replica().computes(*[(50, 50)] * 21, every_s=60.0).count("most_rows_come_too_late") == 3


def test_rows_that_come_one_by_one_are_a_pattern_too() -> None:
    assert "most_rows_come_too_late" in Replica().computes(*[(1, 1)] * 10, every_s=300.0)
