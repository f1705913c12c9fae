"""What the demo shows: without a terminal it must be complete too."""

import math
from io import StringIO

import numpy as np
from rich.console import Console

from tandem.demo.latency import Latencies
from tandem.demo.show import View, line, per_second, screen
from tandem.local import Event, ProcessState
from tandem.local.reported import replica_status
from tandem.local.status import JobStatus
from tandem.local.trend import spark

NOW = 60_000.0


def view(latency_ms: float = 200.0, now_ms: float = NOW) -> View:
    status = JobStatus(
        "flights",
        0.0,
        tuple(replica_status(ProcessState(name, "replica", "running", 1)) for name in ("replica-0", "replica-1")),
        (),
        publisher="replica-1",
        published_epoch=7,
    )
    recent = Latencies(np.arange(0.0, NOW, 100.0), np.full(600, latency_ms))
    return View(
        scene="two replicas at work",
        done=0.5,
        fed=1_234,
        published=1_200,
        recent=recent,
        now_ms=now_ms,
        status=status,
        events=[
            Event(0.0, "replica-1", "gets SIGKILL"),
            Event(1.0, "replica-1", "ended by SIGKILL; restarted at once"),
        ],
    )


def shown(moment: View) -> str:
    out = Console(width=100, file=StringIO())
    with out.capture() as captured:
        out.print(screen(moment))
    return captured.get()


def test_the_screen_tells_who_publishes_how_fast_and_what_happened() -> None:
    text = shown(view())
    for part in ("two replicas at work", "1,234 fed, 1,200 published", "p50 200 ms, p99 200 ms", "replica-0"):
        assert part in text
    assert "replica-1 gets SIGKILL" in text
    assert "last by replica-1" in text


def test_a_line_tells_the_same_in_short() -> None:
    assert line(view()).startswith(
        "two replicas at work: 1,234 fed, 1,200 published, latency p50 200 ms, p99 200 ms; epoch 7; replica-0"
    )


def test_latency_is_unknown_while_nothing_came_lately() -> None:
    assert "latency unknown" in line(view(now_ms=NOW + 30_000))


def test_bars_are_relative_to_the_highest_and_blank_where_there_is_nothing() -> None:
    assert spark([math.nan, 1, 8, 4]) == " ▁█▄"
    assert spark([math.nan]) == " "


def test_each_second_shows_its_slowest_record() -> None:
    recent = Latencies(np.array([0.0, 500.0, 1_500.0]), np.array([5.0, 9.0, 7.0]))
    assert per_second(recent, 2_000.0, 2) == [9.0, 7.0]
