"""What the bench makes of arrivals: percentiles, gaps, recovery, and what is lost, duplicated or reordered."""

import numpy as np
import pytest
from bench.analysis import (
    MS,
    Faults,
    S,
    faults_of_count,
    faults_of_identity,
    gaps_around,
    latency,
    longest_gap_ms,
    recovered_after_s,
    within,
)
from bench.records import ARRIVAL, Arrivals


def arrivals(*rows: tuple[int, int, int, int, int]) -> Arrivals:
    """Rows of (number, created, arrived, key, partition)."""
    return np.array(list(rows), ARRIVAL)


def steady(every_ms: int, latency_ms: float, until_s: float) -> Arrivals:
    """A record each `every_ms`, from 0 to `until_s`, all with the same latency."""
    times = np.arange(0, int(until_s * S), every_ms * MS)
    return arrivals(*((n, int(t - latency_ms * MS), int(t), 0, 0) for n, t in enumerate(times)))


def outputs(*numbers: int, key: int = 0, partition: int = 0) -> list[tuple[int, int, int, int, int]]:
    return [(number, 0, place, key, partition) for place, number in enumerate(numbers)]


def times(*ms: float) -> np.ndarray:
    return np.array([int(value * MS) for value in ms], np.int64)


def test_percentiles_are_those_of_every_record() -> None:
    hundred = arrivals(*((n, 0, n * MS, 0, 0) for n in range(101)))
    found = latency(hundred)
    assert found is not None
    assert (found.records, found.p1, found.p25, found.p50, found.p75, found.p99, found.max) == (
        101,
        1,
        25,
        50,
        75,
        99,
        100,
    )


def test_no_arrivals_have_no_latency() -> None:
    assert latency(arrivals()) is None


def test_a_window_takes_its_beginning_and_leaves_its_end() -> None:
    inside = within(arrivals((0, 0, 9, 0, 0), (1, 0, 10, 0, 0), (2, 0, 19, 0, 0), (3, 0, 20, 0, 0)), 10, 20)
    assert inside["number"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arrived", "gap"),
    [
        (times(10, 20, 50, 60, 95), 35.0),
        (times(60, 95), 60.0),
        (times(10, 30), 70.0),
        (times(), 100.0),
        (times(95, 60, 20, 10, 50), 35.0),
        (times(-50, 10, 40, 70, 99, 400), 30.0),
    ],
    ids=["between arrivals", "at the beginning", "at the end", "all of it", "any order", "outside does not count"],
)
def test_the_longest_gap_of_a_window(arrived: np.ndarray, gap: float) -> None:
    assert longest_gap_ms(arrived, 0, 100 * MS) == gap


def test_a_kill_is_held_against_an_equal_stretch_before_it() -> None:
    regular = steady(10, 5, 40)["arrived_ns"]
    kill = 20 * S
    silent = regular[(regular <= kill) | (regular >= kill + 500 * MS)]
    slow_before = silent[(silent <= 15 * S) | (silent >= 15 * S + 30 * MS)]

    found = gaps_around(slow_before, kill, before_s=1, after_s=10)

    assert (found.around, found.before, found.began) == (500.0, 30.0, 0.0)


def test_a_gap_just_before_the_stretch_counts_for_neither() -> None:
    regular = steady(10, 5, 40)["arrived_ns"]
    kill = 20 * S
    interrupted = regular[(regular <= 7 * S) | (regular >= 8 * S)]  # the stretch before goes from 8 s to 19 s
    found = gaps_around(interrupted, kill, before_s=1, after_s=10)
    assert (found.around, found.before) == (10.0, 10.0)


def test_recovery_ends_when_latency_is_back() -> None:
    usual = steady(10, 20, 30)
    kill = 15 * S
    late = (usual["arrived_ns"] >= kill + S) & (usual["arrived_ns"] < kill + 3 * S)
    usual["created_ns"][late] -= 100 * MS
    assert recovered_after_s(usual, kill, 28 * S) == 3.0


def test_a_late_step_long_after_a_kill_is_not_its_doing() -> None:
    usual = steady(10, 20, 30)
    kill = 15 * S
    usual["created_ns"][usual["arrived_ns"] >= kill + 5 * S] -= 100 * MS
    assert recovered_after_s(usual, kill, 28 * S) == 0.0


def test_a_tenth_more_is_back_and_a_fifth_more_is_not() -> None:
    kill = 15 * S
    for factor, expected in ((1.09, 0.0), (1.2, 13.0)):
        usual = steady(10, 20, 30)
        usual["created_ns"][usual["arrived_ns"] >= kill] -= int(20 * MS * (factor - 1))
        assert recovered_after_s(usual, kill, 28 * S) == expected


def test_silence_counts_as_late() -> None:
    usual = steady(10, 20, 30)
    kill = 15 * S
    silent = usual[(usual["arrived_ns"] < kill) | (usual["arrived_ns"] >= kill + 2 * S)]
    assert recovered_after_s(silent, kill, 28 * S) == 2.0


def test_a_kill_that_nobody_notices_needs_no_recovery() -> None:
    assert recovered_after_s(steady(10, 20, 30), 15 * S, 28 * S) == 0.0


def test_copies_that_all_arrive_once_and_in_order_are_faultless() -> None:
    assert faults_of_identity(arrivals(*outputs(0, 1, 2, 3)), sent=4) == Faults(0, 0, 0)


def test_a_missing_copy_is_lost_wherever_it_is() -> None:
    assert faults_of_identity(arrivals(*outputs(0, 2)), sent=4) == Faults(2, 0, 0)


def test_a_repeated_copy_is_a_duplicate_and_not_a_reordering() -> None:
    assert faults_of_identity(arrivals(*outputs(0, 1, 2, 1, 2, 3)), sent=4) == Faults(0, 2, 0)


def test_a_copy_behind_a_later_one_of_its_partitions_is_reordered() -> None:
    assert faults_of_identity(arrivals(*outputs(0, 2, 1, 3)), sent=4) == Faults(0, 0, 1)


def test_different_partitions_have_no_common_order() -> None:
    of_two_inputs = outputs(1, 3, key=0) + outputs(0, 2, key=1)
    to_two_outputs = outputs(5, partition=0) + outputs(4, partition=1)
    assert faults_of_identity(arrivals(*of_two_inputs, *to_two_outputs), sent=6) == Faults(0, 0, 0)


def test_counts_that_rise_to_the_end_are_faultless() -> None:
    rows = outputs(1, 3, key=7) + outputs(2, key=8)
    assert faults_of_count(arrivals(*rows), np.array([7, 8, 7, 8, 7])) == Faults(0, 0, 0)


def test_a_count_that_ends_low_tells_how_many_were_lost() -> None:
    rows = outputs(1, key=7)
    assert faults_of_count(arrivals(*rows), np.array([7, 8, 7, 8, 7])) == Faults(4, 0, 0)


def test_a_count_that_ends_high_tells_how_many_were_counted_twice() -> None:
    assert faults_of_count(arrivals(*outputs(1, 4, key=7)), np.array([7, 7])) == Faults(0, 2, 0)


def test_a_count_that_comes_again_is_a_duplicate() -> None:
    assert faults_of_count(arrivals(*outputs(1, 2, 2, key=7)), np.array([7, 7])) == Faults(0, 1, 0)


def test_a_count_that_falls_is_reordered() -> None:
    assert faults_of_count(arrivals(*outputs(2, 1, 3, key=7)), np.array([7, 7, 7])) == Faults(0, 0, 1)


def test_nothing_that_arrived_means_all_is_lost() -> None:
    assert faults_of_identity(arrivals(), sent=3) == Faults(3, 0, 0)
    assert faults_of_count(arrivals(), np.array([7, 7, 8])) == Faults(3, 0, 0)
