"""What a reader saw: latencies, gaps, and what never came."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from tandem.demo.latency import Gap, Latencies, SeenEpoch, has_settled, latencies, longest_gap, unpublished
from tandem.protocol.values import EpochRange, Offsets, TopicPartition

A, B = TopicPartition("flights", 0), TopicPartition("weather", 0)


def epoch(
    number: int, arrived_ms: float, starts: dict[TopicPartition, int], ends: dict[TopicPartition, int]
) -> SeenEpoch:
    return SeenEpoch(EpochRange(number, Offsets(starts), Offsets(ends), 0, 0, number), arrived_ms, "replica-0")


@pytest.fixture
def created() -> dict[tuple[str, int, int], float]:
    """Four flights and a weather record, 10 ms apart."""
    return {(*A, 0): 0.0, (*A, 1): 10.0, (*B, 0): 20.0, (*A, 2): 30.0, (*A, 3): 40.0}


@pytest.fixture
def epochs() -> list[SeenEpoch]:
    """All of it but the last flight, in two epochs."""
    return [epoch(0, 100.0, {}, {A: 1}), epoch(1, 150.0, {A: 1}, {A: 3, B: 1})]


def test_a_records_latency_ends_when_its_epochs_marker_arrives(created: dict, epochs: list[SeenEpoch]) -> None:  # type: ignore[type-arg]
    seen = latencies(created, epochs)
    assert sorted(zip(seen.created_ms, seen.latency_ms, strict=True)) == [(0, 100), (10, 140), (20, 130), (30, 120)]


def test_records_of_unknown_creation_are_left_out(epochs: list[SeenEpoch]) -> None:
    assert latencies({(*A, 1): 10.0}, epochs).latency_ms.tolist() == [140.0]


def test_what_is_in_no_published_epoch_is_counted(created: dict, epochs: list[SeenEpoch]) -> None:  # type: ignore[type-arg]
    assert unpublished(created, epochs) == 1
    assert unpublished(created, epochs[:1]) == 4
    assert unpublished(created, []) == 5


def test_a_gap_in_the_middle_of_the_inputs_is_unpublished_too(created: dict, epochs: list[SeenEpoch]) -> None:  # type: ignore[type-arg]
    assert unpublished(created, epochs[1:]) == 2


def test_records_belong_to_the_stretch_in_which_they_were_created() -> None:
    seen = Latencies(np.array([0.0, 10.0, 20.0]), np.array([1.0, 2.0, 3.0]))
    assert seen.between(10, 20).latency_ms.tolist() == [2.0]
    assert seen.between(20, math.inf).latency_ms.tolist() == [3.0]


def test_a_quantile_of_nothing_is_not_a_number() -> None:
    assert math.isnan(latencies({}, []).quantile(0.5))


def test_the_longest_gap_is_found_with_its_beginning() -> None:
    assert longest_gap([30, 10, 90, 20], 0, 100) == Gap(60, 30)


def test_arrivals_outside_the_stretch_do_not_count() -> None:
    assert longest_gap([5, 50, 500], 10, 60) == Gap(40, 10)


def test_an_output_that_ended_is_a_gap() -> None:
    assert longest_gap([10, 20], 0, 1_000) == Gap(980, 20)
    assert longest_gap([], 0, 1_000) == Gap(1_000, 0)


@pytest.mark.parametrize(
    ("every_ms", "settled"),
    [
        pytest.param(lambda _: 1_000, True, id="steady"),
        pytest.param(lambda at: 2_000 if at < 15_000 else 1_000, False, id="still getting faster"),
        pytest.param(lambda at: 1_000 if at < 15_000 else 2_000, True, id="slower again"),
        pytest.param(lambda _: 5_000, False, id="too few to tell"),
    ],
)
def test_epochs_have_settled_when_they_come_no_faster(every_ms: Callable[[float], float], settled: bool) -> None:
    arrivals, at = [], 0.0
    while at < 30_000:
        at += every_ms(at)
        arrivals.append(at)
    assert has_settled(arrivals, 30_000) is settled
