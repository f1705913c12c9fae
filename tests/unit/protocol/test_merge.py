"""The order of rows inside an epoch is the round-robin merge."""

from hypothesis import given
from hypothesis import strategies as st

from tandem.protocol.merge import merge_order, merged

counts_of_inputs = st.lists(st.integers(0, 12), max_size=6)


def _one_of_each_in_turn(counts: list[int]) -> list[int]:
    order: dict[tuple[int, int], int] = {}
    for position in range(max(counts, default=0)):
        for which, count in enumerate(counts):
            if position < count:
                order[which, position] = len(order)
    return [order[which, position] for which, count in enumerate(counts) for position in range(count)]


@given(counts_of_inputs)
def test_rows_are_taken_one_of_each_input_in_turn(counts: list[int]) -> None:
    assert merge_order(counts).tolist() == _one_of_each_in_turn(counts)


@given(counts_of_inputs)
def test_the_closed_form_holds(counts: list[int]) -> None:
    expected = [
        sum(min(c, i) for c in counts) + sum(1 for c in counts[:p] if c > i)
        for p, count in enumerate(counts)
        for i in range(count)
    ]
    assert merge_order(counts).tolist() == expected


def test_the_rows_of_one_input_keep_their_order() -> None:
    assert merge_order([4]).tolist() == [0, 1, 2, 3]


@given(counts_of_inputs)
def test_records_are_merged_in_that_order(counts: list[int]) -> None:
    inputs = [[(which, position) for position in range(count)] for which, count in enumerate(counts)]
    places = merge_order(counts).tolist()
    in_place = dict(zip(places, [record for records in inputs for record in records], strict=True))
    assert merged(inputs) == [in_place[place] for place in range(len(places))]
