"""The feeds of the measured jobs, and what must come out of them."""

from collections import Counter

import numpy as np
import pytest
from bench import jobs
from bench.analysis import Faults
from bench.measured import WORKLOADS
from bench.nexmark import short
from bench.plan import CONFIGURATIONS, SCALES, changed, kill_runs, steady_runs
from bench.records import ARRIVAL, KEYS, VALUE_BYTES, WINDOW_EVENTS, Arrivals, encode, first_keys


def arrivals(numbers: list[int], keys: list[int] | None = None) -> Arrivals:
    return np.array([(n, 0, at, (keys or numbers)[at], 0) for at, n in enumerate(numbers)], ARRIVAL)


def test_every_job_of_the_bench_is_fed_records_of_one_length() -> None:
    own = {name: workload for name, workload in WORKLOADS.items() if workload.job.is_beside}
    assert list(own) == ["identity", "filter", "count", "timed", "asked", "fixwindow", "q3", "q8"]
    for name, workload in own.items():
        assert workload.job.function is getattr(jobs, name)
        make = workload.feed(1)
        assert {len(make(number, 0).value) for number in range(100)} == {VALUE_BYTES}


def test_a_short_event_is_the_same_whenever_it_is_made() -> None:
    first = [short.body(number) for number in range(200)]
    assert [short.body(number) for number in reversed(range(200))] == first[::-1]


def test_spark_finds_the_fields_at_their_places() -> None:
    person, auction = short.body(50), short.body(1)
    assert encode(50, 0, person)[33:34] == b"P"
    assert encode(50, 0, person)[35:45] == b"0000001001"
    assert encode(1, 0, auction)[46:48] in {b"10", b"11", b"12", b"13", b"14"}


def test_a_row_needs_its_seller_and_only_half_the_states_and_a_fifth_of_the_categories_are_wanted() -> None:
    sent = 100_000
    rows = short.rows_of_q3(sent)
    assert len(rows) == pytest.approx(sent * 3 / 50 / 5 / 2, rel=0.2)
    assert set(short.rows_of_q3(5_000)) <= set(rows)
    assert all(short.body(int(number)).endswith(" 10") for number in rows)


def test_a_window_holds_sellers_that_are_new_in_it() -> None:
    rows = short.rows_of_q8(20_000)
    sellers = [int(short.body(int(number)).split()[1]) - 1_000 for number in rows]
    assert all(seller * 50 // 10_000 == number // 10_000 for seller, number in zip(sellers, rows, strict=True))
    assert len(rows) > 600


def test_rows_that_all_arrive_once_are_faultless_in_any_order() -> None:
    rows = short.rows_of_q3(50_000).tolist()
    assert WORKLOADS["q3"].faults(arrivals(rows[::-1]), 1, 50_000) == Faults(0, 0, 0)


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        (lambda rows: rows[1:], Faults(1, 0, 0)),
        (lambda rows: [*rows, rows[0]], Faults(0, 1, 0)),
        (lambda rows: [*rows, 7_777_777], Faults(0, 1, 0)),
        (lambda rows: [7_777_777, *rows[1:]], Faults(1, 1, 0)),
        (lambda _rows: [], Faults(len(short.rows_of_q8(50_000)), 0, 0)),
    ],
)
def test_a_row_that_is_missing_repeated_or_made_up_is_found(change: object, faults: Faults) -> None:
    rows = change(short.rows_of_q8(50_000).tolist())  # type: ignore[operator]
    assert WORKLOADS["q8"].faults(arrivals(rows), 1, 50_000) == faults


def test_each_window_counts_its_own_visits() -> None:
    sent = WINDOW_EVENTS + 1
    keys = first_keys(1, sent)
    windowed = [*keys[:-1].tolist(), KEYS + int(keys[-1])]
    seen: Counter[int] = Counter()
    counts = []
    for key in windowed:
        seen[key] += 1
        counts.append(seen[key])
    fault = WORKLOADS["fixwindow"].faults
    assert fault(arrivals(counts, windowed), 1, sent) == Faults(0, 0, 0)
    assert fault(arrivals(counts[:-1], windowed), 1, sent) == Faults(1, 0, 0)


def test_one_with_a_standby_is_only_killed() -> None:
    settings = changed(SCALES["laptop"], only=("tandem-1", "tandem-1-standby"), kills=2, alone_kills=0)
    assert {run.configuration.name for run in steady_runs(settings)} == {"tandem-1"}
    assert [run.configuration for run in kill_runs(settings)] == [CONFIGURATIONS["tandem-1-standby"]]
