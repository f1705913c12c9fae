"""An epoch has no more bytes than it may have, unless one record alone has more, and every input goes on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tandem.protocol.cutting import Sizes, ends_within
from tandem.protocol.values import Offsets, TopicPartition

INPUTS = [TopicPartition("in", partition) for partition in range(3)]
NONE = Offsets()
weights = st.lists(st.integers(1, 40), max_size=12)
max_bytes = st.integers(1, 60)


def counted(*inputs: list[int], gap: int = 1, missing: int = 0) -> dict[TopicPartition, Sizes]:
    """Records of these weights, `gap` offsets apart; the last `missing` offsets before the end are not counted yet."""
    return {
        tp: Sizes(tuple(range(0, len(one) * gap, gap)), tuple(one), len(one) * gap - missing)
        for tp, one in zip(INPUTS, inputs, strict=False)
    }


def all_of(sizes: dict[TopicPartition, Sizes]) -> Offsets:
    return Offsets({tp: one.to for tp, one in sizes.items()})


def weighed(sizes: dict[TopicPartition, Sizes], last: Offsets, ends: Offsets) -> list[int]:
    """The weights of the records from `last` to `ends`."""
    return [
        weight
        for tp, one in sizes.items()
        for offset, weight in zip(one.offsets, one.weights, strict=True)
        if last.get(tp, 0) <= offset < ends[tp]
    ]


@given(st.tuples(weights, weights, weights), max_bytes, st.integers(0, 9), st.integers(1, 3))
def test_an_epoch_is_no_larger_than_it_may_be_or_has_one_record_more(
    inputs: tuple[list[int], ...], most: int, turn: int, gap: int
) -> None:
    sizes = counted(*inputs, gap=gap)
    ends = ends_within(NONE, all_of(sizes), sizes, most, turn)
    taken = weighed(sizes, NONE, ends)
    assert sum(taken) <= most or len(taken) == 1
    assert bool(taken) == any(inputs)
    assert all(0 <= ends[tp] <= one.to for tp, one in sizes.items())


@given(st.tuples(weights, weights, weights), max_bytes)
def test_every_record_comes_in_some_epoch(inputs: tuple[list[int], ...], most: int) -> None:
    sizes = counted(*inputs)
    last, seen = Offsets(dict.fromkeys(sizes, 0)), list[int]()
    for turn in range(sum(map(len, inputs)) + 1):
        left = {tp: Sizes(one.offsets[last[tp] :], one.weights[last[tp] :], one.to) for tp, one in sizes.items()}
        ends = ends_within(last, all_of(sizes), left, most, turn)
        seen += weighed(sizes, last, ends)
        last = ends
    assert sorted(seen) == sorted(weight for one in inputs for weight in one)


@given(st.integers(1, 5))
def test_an_input_whose_records_are_larger_than_its_share_is_not_starved_by_others_that_are_full(turns: int) -> None:
    """Each of three inputs may have 20 of 60 bytes, but one has records of 40."""
    sizes = counted([1] * 100, [1] * 100, [40] * 3)
    first = [ends_within(NONE, all_of(sizes), sizes, 60, turn)[INPUTS[2]] for turn in range(turns, turns + 3)]
    assert 1 in first


def test_of_records_that_are_larger_than_a_share_as_many_are_taken_as_fit_and_each_input_has_its_turn() -> None:
    """A hundred inputs have a record of 9 bytes each, and 50 bytes are to be shared."""
    inputs = [TopicPartition("in", partition) for partition in range(100)]
    sizes = {tp: Sizes((0,), (9,), 1) for tp in inputs}
    epochs = [ends_within(NONE, all_of(sizes), sizes, 50, turn) for turn in range(100)]
    assert {sum(ends.values()) for ends in epochs} == {5}
    assert {sum(ends[tp] for ends in epochs) for tp in inputs} == {5}


@given(st.tuples(weights, weights, weights), max_bytes, st.integers(0, 9))
def test_an_input_that_has_no_record_in_an_epoch_has_none_that_would_have_fitted(
    inputs: tuple[list[int], ...], most: int, turn: int
) -> None:
    sizes = counted(*inputs)
    ends = ends_within(NONE, all_of(sizes), sizes, most, turn)
    left = most - sum(weighed(sizes, NONE, ends))
    first_ones = [one.weights[0] for tp, one in sizes.items() if one.weights and not ends[tp]]
    assert all(weight > left for weight in first_ones)


def test_what_fits_is_taken_whole_with_what_stands_between_the_records() -> None:
    sizes = {INPUTS[0]: Sizes((0, 4), (5, 5), 9)}
    assert ends_within(NONE, Offsets({INPUTS[0]: 9}), sizes, 10, 0) == Offsets({INPUTS[0]: 9})
    assert ends_within(NONE, Offsets({INPUTS[0]: 9}), sizes, 9, 0) == Offsets({INPUTS[0]: 4})


def test_what_is_not_counted_is_not_taken() -> None:
    ends = Offsets({INPUTS[0]: 3, INPUTS[1]: 2})
    sizes = counted([1, 1, 1], missing=1)
    last = Offsets({INPUTS[0]: 1, INPUTS[1]: 1})
    assert ends_within(last, ends, sizes, 100, 0) == Offsets({INPUTS[0]: 2, INPUTS[1]: 1})
