"""The last two minutes of latency as bars."""

from __future__ import annotations

import doctest
import math
from dataclasses import replace

import pytest

from tandem.local import trend
from tandem.local.status import JobStatus, ReplicaStatus
from tandem.local.trend import BAR_S, BARS_SHOWN, Trend, scale

PUBLISHES = ReplicaStatus("replica-0", "running", 11, True, 0, "", share=0.9)
START_S = 1_700_000_000.0 // BAR_S * BAR_S


def at(second: float, p50: float | None, p99: float | None, *others: ReplicaStatus) -> JobStatus:
    return JobStatus("flights", START_S + second, (replace(PUBLISHES, p50_ms=p50, p99_ms=p99), *others), ())


def lines(*seen: JobStatus) -> list[str]:
    made = Trend()
    for status in seen:
        made.add(status)
    return list(made.lines())


def test_bars_grow_from_the_right_with_the_newest_value_and_the_scale() -> None:
    blank = " " * (BARS_SHOWN - 3)

    assert lines(at(0, 10.0, 20.0), at(BAR_S, 20.0, 160.0), at(2 * BAR_S, 40.0, 81.4)) == [
        f"p50     40 ms {blank}▂▄▇ 0 to 50 ms",
        f"p99     81 ms {blank}▁▇▄ 0 to 200 ms",
    ]


def test_a_bar_keeps_the_worst_of_its_time_however_often_somebody_looks() -> None:
    steady = [at(second / 4, 10.0, 10.0) for second in range(int(4 * BAR_S))]
    steady[3] = at(0.75, 10.0, 80.0)

    assert lines(*steady)[1] == f"p99     80 ms {' ' * (BARS_SHOWN - 1)}▇ 0 to 100 ms"


def test_the_picture_moves_by_whole_bars_only() -> None:
    seen = [at(BAR_S * (0.75 + number), 1.0 + number % 7, 9.0) for number in range(BARS_SHOWN - 1)]
    seen.append(at(BAR_S * (BARS_SHOWN - 1), 2.0, 9.0))
    late = at(BAR_S * BARS_SHOWN - 0.1, 2.0, 9.0)
    next_bar = at(BAR_S * BARS_SHOWN, 7.0, 9.0)

    bars = [lines(*more)[0][14 : 14 + BARS_SHOWN] for more in (seen, [*seen, late], [*seen, late, next_bar])]
    assert bars[1] == bars[0]
    assert bars[2][:-1] == bars[0][1:]


def test_times_without_values_are_blank_and_what_is_older_than_the_window_goes() -> None:
    seen = [at(0, 10.0, 10.0), at(BAR_S, None, None), at(2 * BAR_S, 10.0, 10.0)]

    assert lines(*seen)[0] == f"p50     10 ms {' ' * (BARS_SHOWN - 3)}█ █ 0 to 10 ms"
    assert lines(*seen, at(1_000, None, None)) == []


def test_nothing_is_shown_before_the_first_value() -> None:
    assert lines() == []
    assert lines(at(0, None, None)) == []


def test_only_replicas_that_publish_count_and_of_those_the_slowest() -> None:
    follows = replace(PUBLISHES, name="replica-1", share=0.0, p50_ms=900.0, p99_ms=900.0)
    slower = replace(PUBLISHES, name="replica-2", share=0.1, p50_ms=5.0, p99_ms=50.0)

    first, second = lines(at(0, 10.0, 20.0, follows, slower))
    assert (first[:13], second[:13]) == ("p50     10 ms", "p99     50 ms")


@pytest.mark.parametrize(
    ("highest", "top"), [(0.2, 1), (1, 1), (1.1, 2), (5, 5), (5.1, 10), (140, 200), (9_000, 10_000)]
)
def test_the_scale_is_a_round_number_that_holds_all(highest: float, top: float) -> None:
    assert math.isclose(scale(highest), top)


def test_the_examples_hold() -> None:
    assert doctest.testmod(trend).failed == 0
