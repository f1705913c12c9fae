"""Where the next epoch ends."""

from hypothesis import given
from hypothesis import strategies as st

from tandem.protocol.cutting import beyond_gaps, next_ends
from tandem.protocol.values import Offsets
from unit.protocol.builders import any_positions, at

budgets = st.integers(1, 30)


def test_everything_available_is_taken_if_there_is_room() -> None:
    assert next_ends(at(1, 2), at(5, 9), 100) == at(5, 9)


def test_a_busy_input_does_not_starve_another() -> None:
    assert next_ends(at(0, 0), at(100, 3), 10) == at(7, 3)


def test_an_older_end_takes_nothing_back() -> None:
    assert next_ends(at(5), at(3), 10) == at(5)


def test_an_input_that_is_not_answered_for_is_kept() -> None:
    assert next_ends(at(5, 6), at(9), 10) == at(9, 6)


def test_a_new_input_begins_at_zero() -> None:
    assert next_ends(at(5), at(5, 2), 10) == at(5, 2)


def test_with_fewer_records_than_inputs_each_has_its_turn_however_much_the_others_get() -> None:
    last = at(0, 0, 0, 0)
    for epoch in range(4):
        busy = at(1_000, *(end + 1 for end in list(last.values())[1:]))  # the others always have one new record
        last = next_ends(last, busy, 2, epoch)
    assert last == at(2, 2, 2, 2)


def test_an_epoch_takes_so_many_records_however_many_offsets_are_without_one() -> None:
    few = [4_000, 4_001, 4_700]

    assert beyond_gaps(0, 2, 9_000, few, 4_701) == 4_700
    assert beyond_gaps(0, 100, 9_000, few, 4_701) == 4_701
    assert beyond_gaps(0, 100, 4_500, few, 4_701) == 4_500, "no further than the input is known to go"
    assert beyond_gaps(0, 100, 9_000, [], 8_000) == 8_000
    assert beyond_gaps(0, 100, 9_000, [3], 50) == 100, "what comes next is not known"
    assert beyond_gaps(5, 5, 9_000, few, 4_701) == 5


@given(st.integers(0, 50), st.integers(1, 20), st.integers(0, 40))
def test_inputs_without_gaps_are_cut_where_they_were(start: int, count: int, counted: int) -> None:
    offsets = range(start, start + counted)

    assert beyond_gaps(start, start + count, 1_000, offsets, start + counted) == start + count


@given(any_positions, any_positions, budgets)
def test_no_input_goes_back_or_beyond_its_end_or_gets_lost(last: Offsets, available: Offsets, budget: int) -> None:
    ends = next_ends(last, available, budget)
    assert set(ends) == {*last, *available}
    for tp, end in ends.items():
        assert last.get(tp, 0) <= end <= max(last.get(tp, 0), available.get(tp, 0))


@given(any_positions, any_positions, budgets)
def test_the_budget_is_kept_and_used(last: Offsets, available: Offsets, budget: int) -> None:
    waiting = sum(max(0, offset - last.get(tp, 0)) for tp, offset in available.items())
    ends = next_ends(last, available, budget)
    assert ends.records_since(last) == min(budget, waiting)


@given(any_positions, any_positions, budgets)
def test_nobody_gets_more_than_one_record_more_than_who_still_waits(
    last: Offsets, available: Offsets, budget: int
) -> None:
    ends = next_ends(last, available, budget)
    shares = {tp: end - last.get(tp, 0) for tp, end in ends.items()}
    hungry = [tp for tp, end in ends.items() if end < available.get(tp, 0)]
    for tp in hungry:
        assert max(shares.values()) <= shares[tp] + 1
