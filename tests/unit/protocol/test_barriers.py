"""Which epochs are barriers: about once an interval, also after a restart; and replicas' own ones are apart."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.protocol.barriers import BarrierClock, OwnBarriers, asks_for_barrier, is_common
from tandem.protocol.decisions import Decisions
from tandem.protocol.values import Config, Cut
from unit.protocol.builders import at

INTERVAL_MS = 5_000
DENSE = [1_000_000 + 7 * epoch for epoch in range(10_000)]  # 70 s
times = st.lists(st.integers(0, 40), min_size=2, max_size=300).map(
    lambda steps: [1_000_000 + sum(steps[: i + 1]) for i in range(len(steps))]
)


def own(clock: BarrierClock, epochs: list[int]) -> list[int]:
    """The times of those epochs that are barriers."""
    return [time for time in epochs if clock.passes(time)]


def test_common_barriers_are_the_first_epochs_of_their_periods() -> None:
    found = [time for before, time in pairwise(DENSE) if is_common(before, time, INTERVAL_MS)]
    assert all(time % INTERVAL_MS < 7 for time in found)
    assert len(found) == 70_000 // INTERVAL_MS - 1
    assert not any(is_common(before, time, 0) for before, time in pairwise(DENSE)), "0: there are none"


def log(barriers: bool, *cut_at_ms: int) -> Decisions:
    """A log with these epochs."""
    decisions = Decisions()
    decisions.apply(Config(0, "c0ffee", at(0), "replica-0", barriers=barriers))
    for epoch, time in enumerate(cut_at_ms):
        decisions.apply(Cut(epoch, at(epoch + 1), time, 0, "orderer-0"), epoch + 1)
    return decisions


def test_an_orderer_asks_where_the_generation_needs_them_and_the_last_epoch_is_of_an_earlier_period() -> None:
    assert asks_for_barrier(log(True, 4_000), 1, 5_001, INTERVAL_MS)
    assert not asks_for_barrier(log(True, 4_000, 5_000), 2, 5_001, INTERVAL_MS), "the last one was the first"
    assert not asks_for_barrier(log(False, 4_000), 1, 5_001, INTERVAL_MS), "nobody needs them"
    assert not asks_for_barrier(log(True, 4_000), 1, 5_001, 0), "there are none"
    assert not asks_for_barrier(log(True), 0, 5_001, INTERVAL_MS), "there is nothing before the first epoch"


def test_an_orderer_that_has_just_begun_asks_as_one_that_has_read_everything() -> None:
    config, last = Config(0, "c0ffee", at(0), "replica-0", barriers=True), Cut(9, at(10), 4_990, 0, "orderer-0")
    resumed = Decisions.resumed(config, last, 19)
    assert asks_for_barrier(resumed, 10, 5_000, INTERVAL_MS)
    assert not asks_for_barrier(resumed, 10, 4_999, INTERVAL_MS)


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_each_replica_turns_over_once_an_interval_and_never_with_another(replicas: int) -> None:
    found = [own(BarrierClock(OwnBarriers(INTERVAL_MS, place, replicas), DENSE[0]), DENSE) for place in range(replicas)]
    for barriers in found:
        assert all(abs(later - time - INTERVAL_MS) <= 14 for time, later in pairwise(barriers))
        assert len(barriers) >= 13
    everybody_s = sorted(time for barriers in found for time in barriers)
    apart = INTERVAL_MS // replicas
    assert all(later - time >= apart - 14 for time, later in pairwise(everybody_s))


@given(times, st.integers(1, 60), st.integers(1, 3))
def test_two_places_never_share_a_barrier_unless_one_is_overdue(
    epochs: list[int], interval: int, replicas: int
) -> None:
    rules = [OwnBarriers(interval, place, replicas) for place in range(replicas)]
    for before, time in pairwise(epochs):
        due = [rule for rule in rules if rule.is_due(before, time, last_ms=time)]
        assert len(due) <= 1


@given(times, st.integers(2, 60), st.integers(0, 2))
def test_however_epochs_fall_nobody_goes_longer_than_two_intervals_without_one(
    epochs: list[int], interval: int, place: int
) -> None:
    clock, last = BarrierClock(OwnBarriers(interval, place, 3), epochs[0]), epochs[0]
    for time in epochs[1:]:
        if clock.passes(time):
            last = time
        assert time - last < 2 * interval


@given(times, st.integers(2, 60), st.data())
def test_who_restarts_at_a_barrier_has_the_same_ones_from_there_on(
    epochs: list[int], interval: int, data: st.DataObject
) -> None:
    rule = OwnBarriers(interval, 1, 2)
    found = own(BarrierClock(rule, epochs[0]), epochs[1:])
    if not found:
        return
    restored = data.draw(st.sampled_from(found))
    later = epochs[epochs.index(restored) + 1 :]
    later = [time for time in later if time > restored]
    assert own(BarrierClock(rule, restored), later) == [time for time in found if time > restored]


def test_a_replica_that_does_not_know_its_last_barrier_begins_to_count() -> None:
    clock = BarrierClock(OwnBarriers(INTERVAL_MS), None)
    assert own(clock, DENSE)[0] == next(time for time in DENSE if time >= 1_005_000)


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 of each"):
        OwnBarriers(0)
