"""The comparison of rows with their reference, and the checks of a run, can fail."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench.exact.checks import Arrival, History, judge
from bench.workloads import LITERATURE, Record, Row
from bench.workloads.compare import Differences, differences

EXPECTED = [[Row(b"a", b"1"), Row(b"b", b"2"), Row(b"a", b"3"), Row(None, b"4")], [], [Row(b"a", b"1")]]


def of_first(*rows: Row) -> list[list[Row]]:
    return [[*rows], *EXPECTED[1:]]


def test_the_same_rows_do_not_differ_whatever_the_order_of_keys_is() -> None:
    first = EXPECTED[0]
    assert differences(EXPECTED, EXPECTED) == Differences()
    assert differences(EXPECTED, of_first(first[3], first[0], first[2], first[1])).none


@pytest.mark.parametrize(
    ("got", "counts"),
    [
        (of_first(*EXPECTED[0][1:]), (1, 0, 0)),
        (of_first(*EXPECTED[0], EXPECTED[0][1]), (0, 1, 0)),
        (of_first(Row(b"a", b"0"), *EXPECTED[0][1:]), (1, 1, 0)),
        (of_first(Row(b"c", b"1"), *EXPECTED[0][1:]), (1, 1, 0)),
        (of_first(Row(b"a", b"1", (("h", b"x"),)), *EXPECTED[0][1:]), (1, 1, 0)),
        (of_first(*EXPECTED[0][::-1]), (0, 0, 1)),
        ([EXPECTED[0], EXPECTED[2], []], (1, 1, 0)),
        (EXPECTED[:2], (1, 0, 0)),
        ([*EXPECTED, [Row(None, b"x")]], (0, 1, 0)),
        ([], (5, 0, 0)),
    ],
    ids=[
        *("dropped", "repeated", "value", "key", "header", "order", "epoch", "last-epoch", "one-more-epoch", "nothing"),
    ],
)
def test_a_difference_is_found(got: list[list[Row]], counts: tuple[int, int, int]) -> None:
    found = differences(EXPECTED, got)
    assert (found.missing, found.surplus, found.reordered) == counts
    assert not found.none
    assert found.first.startswith("epoch ")


MIB = LITERATURE["mib1"]
SENT = MIB.records(1, 40)


def history() -> History:
    """What Kafka holds if all is well: three epochs, each key in one of two partitions."""
    inputs: dict[tuple[str, int], list[Record]] = {}
    for record in SENT:
        inputs.setdefault(("events", record.partition), []).append(record)
    ends = [{("events", 0): 5, ("events", 1): 5}, {("events", 0): 5, ("events", 1): 7}, dict.fromkeys(inputs, 20)]
    arrivals, position = [], dict.fromkeys(inputs, 0)
    for epoch, reached in enumerate(ends):
        own = [(place[1], inputs[place][position[place] : end]) for place, end in reached.items()]
        index = 0
        for at in range(20):
            for _, records in own:
                if at < len(records):
                    key = records[at].key or b""
                    arrivals.append(Arrival(epoch, index, key[-1] % 2, Row(key, records[at].value)))
                    index += 1
        position = dict(reached)
    return History(inputs, ends, sorted(arrivals, key=lambda arrival: arrival.partition))


def failed(seen: History) -> set[str]:
    return {check.name for check in judge(MIB, "microBatch", SENT, seen) if not check.passed}


def test_a_run_that_went_well_is_exact() -> None:
    assert failed(history()) == set()


def test_a_row_that_is_missing_repeated_or_changed_is_told() -> None:
    good = history()
    rows = good.arrivals
    changed = replace(rows[3], row=Row(rows[3].row.key, b"other"))
    assert failed(replace(good, arrivals=rows[:3] + rows[4:])) == {"rows"}  # type: ignore[operator]
    assert failed(replace(good, arrivals=[*rows[:4], *rows[3:]])) == {"rows", "partitions"}
    assert failed(replace(good, arrivals=[*rows[:3], changed, *rows[4:]])) == {"rows"}
    assert failed(replace(good, arrivals=[*rows, Arrival(9, 0, 3, rows[0].row)])) == {"rows", "partitions"}


def test_rows_that_are_out_of_order_or_in_two_partitions_are_told() -> None:
    good = history()
    rows = list(good.arrivals)
    assert "partitions" in failed(replace(good, arrivals=rows[::-1]))
    keys = [(at, row) for at, row in enumerate(rows) if row.row.key == rows[0].row.key]
    moved = [*rows, replace(keys[-1][1], partition=3, epoch=2, index=999)]
    assert "partitions" in failed(replace(good, arrivals=moved))


def test_epochs_that_leave_a_record_out_or_take_it_twice_are_told() -> None:
    good = history()
    assert "epochs" in failed(replace(good, ends=good.ends[:2]))
    back = [good.ends[1], {**good.ends[0]}, good.ends[2]]
    assert "epochs" in failed(replace(good, ends=back))


def test_inputs_that_are_not_what_was_made_are_told() -> None:
    good = history()
    inputs = {place: list(records) for place, records in good.inputs.items()}
    inputs["events", 1][2] = inputs["events", 1][2]._replace(value=b"other")
    assert "inputs" in failed(replace(good, inputs=inputs))
