"""Lanes side by side: on the screen, and when one of them ends."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from tandem.local.lanes import LocalLanes
from tandem.local.lanes_screen import is_ready, lanes_line, lanes_table
from tandem.local.outcome import Event, Outcome
from tandem.local.status import JobStatus, OrdererStatus, ReplicaStatus
from tandem.process.info import ExitCode

REPLICA = ReplicaStatus(
    name="replica-0", state="running", pid=1, alive=True, restarts=0, reason="", answers=True, active=True, ready=True
)
OTHER = replace(REPLICA, name="replica-1")
LEADER = OrdererStatus("orderer-0", "running", 21, True, 0, "", leading=True, input_lag_records=0)
WHOLE = JobStatus("orders.lane-0", 1.0, (REPLICA, OTHER), (LEADER,), "replica-0", 1203)
DEGRADED = replace(
    WHOLE,
    job="orders.lane-1",
    replicas=(replace(REPLICA, lag_records=52_000), replace(OTHER, state="given up", alive=False, ready=False)),
    orderers=(replace(LEADER, input_lag_records=8_000),),
)


def shown(*lanes: JobStatus, every: bool = False) -> str:
    out = Console(file=io.StringIO(), width=120, color_system=None)
    out.print(lanes_table("orders", lanes, every))
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_a_row_says_how_a_lane_stands() -> None:
    (row,) = [line for line in shown(WHOLE).splitlines() if line.startswith("lane-0")]
    assert row.split()[:5] == ["lane-0", "2/2", "replica-0", "orderer-0", "1,203"]


def test_the_worst_is_said_first() -> None:
    text = shown(WHOLE, DEGRADED)
    assert "orders: 1/2 lanes ready, lane-1 is 60,000 records behind" in text
    assert "orders.lane-1: WITHOUT REDUNDANCY" in text.replace("\n", " ")
    assert lanes_line("orders", [WHOLE, DEGRADED]).startswith("orders: 1/2 lanes ready")


def test_of_many_troubles_some_are_shown_and_the_rest_counted() -> None:
    lanes = [replace(DEGRADED, job=f"orders.lane-{number}") for number in range(9)]
    assert "and 4 more: tandem status --lane N" in shown(*lanes)


def test_many_lanes_that_are_ready_are_one_line_unless_each_is_asked_for() -> None:
    lanes = [replace(WHOLE, job=f"orders.lane-{number}") for number in range(64)]
    assert shown(*lanes).splitlines() == ["Job orders: 64/64 lanes ready"]
    assert len([line for line in shown(*lanes, every=True).splitlines() if line.startswith("lane-")]) == 64


def test_of_many_lanes_those_that_are_not_ready_have_a_row() -> None:
    lanes = [replace(WHOLE, job=f"orders.lane-{number}") for number in range(64)]
    text = shown(*lanes[:5], replace(DEGRADED, job="orders.lane-5"), *lanes[6:])
    assert "63/64 lanes ready, lane-5 is 60,000 records behind" in text
    assert [line.split()[0] for line in text.splitlines() if line.startswith("lane-")] == ["lane-5"]


def test_a_lane_without_a_replica_that_is_at_the_head_is_not_ready() -> None:
    assert is_ready(WHOLE)
    behind = tuple(replace(one, ready=False) for one in WHOLE.replicas)
    assert not is_ready(replace(WHOLE, replicas=behind))


class Job:
    """Stands for a LocalJob that has ended, or goes on."""

    def __init__(self, name: str, outcome: Outcome | None, *events: Event) -> None:
        self.name, self.outcome, self._events = name, outcome, events

    def events(self) -> tuple[Event, ...]:
        return self._events


def lanes(*jobs: Any) -> LocalLanes:
    return LocalLanes(jobs)


BAD, GOOD = Outcome(ExitCode.REFUSED, "no such topic"), Outcome(ExitCode.OK, "every replica was stopped")


def test_a_lane_that_ends_does_not_end_the_others() -> None:
    assert lanes(Job("o.lane-0", BAD), Job("o.lane-1", None)).outcome is None


@pytest.mark.parametrize("outcomes", [(BAD, GOOD), (GOOD, BAD)])
def test_the_worst_end_counts(outcomes: tuple[Outcome, Outcome]) -> None:
    found = lanes(*(Job(f"o.lane-{number}", outcome) for number, outcome in enumerate(outcomes))).outcome
    assert found is not None
    assert found.code is ExitCode.REFUSED
    assert f"o.lane-{outcomes.index(BAD)}: no such topic" in found.reason


def test_a_lane_that_gave_up_counts_also_if_the_others_were_stopped() -> None:
    stopped = lanes(Job("o.lane-0", None), Job("o.lane-1", BAD))
    assert stopped.worst == Outcome(ExitCode.REFUSED, "o.lane-1: no such topic")
    assert lanes(Job("o.lane-0", None), Job("o.lane-1", None)).worst is None


def test_the_only_job_speaks_for_itself() -> None:
    alone = lanes(Job("o", BAD, Event(1.0, "replica-0", "started")))
    assert alone.outcome == BAD
    assert alone.events() == [Event(1.0, "replica-0", "started")]


def test_events_of_several_lanes_are_in_order_with_their_lanes() -> None:
    first, second = Event(1.0, "replica-0", "started"), Event(2.0, "replica-0", "ended")
    found = lanes(Job("o.lane-0", None, second), Job("o.lane-1", None, first)).events()
    assert [event.process for event in found] == ["o.lane-1 replica-0", "o.lane-0 replica-0"]
