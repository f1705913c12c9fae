"""What the checker and the reader stand on: sets of numbers, headers, the lead of a partition, the shown report."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tandem.kafka.headers import RowId, row_id
from tandem.kafka.prefetch import Changes
from tandem.protocol.values import TopicPartition
from tandem.replica.records import records_of
from tandem.replica.rows import EpochRows
from tandem.topics.declared import SinkTopics
from tandem.verify.lead import Lead
from tandem.verify.numbers import Runs
from tandem.verify.report import as_json, print_report
from unit.verify.history import good

A, B, C = (TopicPartition("out", partition) for partition in range(3))


@given(st.lists(st.integers(0, 40)))
def test_runs_are_a_set_and_know_their_gaps(numbers: list[int]) -> None:
    runs, model = Runs(), set[int]()
    for number in numbers:
        assert runs.add(number) == (number not in model)
        model.add(number)
        assert all((n in runs) == (n in model) for n in range(-1, 42))
    assert len(runs) == len(model)
    assert (runs.first, runs.last) == (min(model, default=None), max(model, default=None))
    assert {n for gap in runs.gaps(0) for n in gap} == set(range(max(model, default=0))) - model
    assert runs.absent_below(20, 3) == [n for n in range(20) if n not in model][:3]


def test_the_headers_of_published_rows_are_understood() -> None:
    table = pa.table(
        {
            "sink": ["out", "table", "out"],
            "key": pa.array([b"k", None, None], pa.binary()),
            "value": pa.array([b"a", b"b", b"c"], pa.binary()),
            "headers": pa.array(
                [[{"key": "tandem.index", "value": b"77"}], None, None],
                pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
            ),
        }
    )
    sinks = SinkTopics({"out": "out"}, {"out": 2}, "dead", 1_000)
    records = records_of(EpochRows.of(12, table, ordered=True), sinks)

    assert [row_id(list(record.headers)) for record in records] == [RowId(12, 0), RowId(12, 2)]


@pytest.mark.parametrize(
    "headers",
    [
        None,
        [],
        [("tandem.epoch", b"1")],
        [("tandem.epoch", b"1"), ("tandem.index", b"-1")],
        [("tandem.epoch", b"one"), ("tandem.index", b"1")],
        [("tandem.epoch", None), ("tandem.index", b"1")],
        [("tandem.epoch", b"9" * 99), ("tandem.index", b"1")],
    ],
)
def test_headers_of_others_are_no_row_of_ours(headers: list[tuple[str, bytes | None]] | None) -> None:
    assert row_id(headers) is None


def test_a_partition_that_is_far_ahead_is_paused_until_the_others_come_near() -> None:
    lead = Lead([A, B], window=10)

    lead.reached(A, 9)
    assert lead.changes() == Changes()
    lead.reached(A, 10)
    lead.reached(B, 0)
    assert lead.changes() == Changes()
    lead.reached(A, 11)
    assert lead.changes() == Changes(pause=(A,))
    lead.reached(B, 5)
    assert lead.changes() == Changes()
    lead.reached(B, 6)
    assert lead.changes() == Changes(resume=(A,))


def test_nobody_waits_for_a_partition_that_has_ended() -> None:
    lead = Lead([A, B, C], window=10)
    lead.reached(A, 100)
    assert lead.changes() == Changes(pause=(A,))

    lead.ended(B)
    lead.ended(C)

    assert lead.changes() == Changes(resume=(A,))


@given(st.lists(st.tuples(st.sampled_from([A, B, C]), st.integers(0, 60)), max_size=60))
def test_there_is_always_a_partition_that_is_read_on(reached: list[tuple[TopicPartition, int]]) -> None:
    lead, paused = Lead([A, B, C], window=4), set[TopicPartition]()
    for partition, epoch in reached:
        lead.reached(partition, epoch)
        changes = lead.changes()
        paused = (paused | {*changes.pause}) - {*changes.resume}
        assert paused != {A, B, C}


def test_the_report_is_shown_in_a_few_lines() -> None:
    history = good()
    out = io.StringIO()
    print_report(
        Console(file=out, soft_wrap=True), "flights", history.with_output(0, history.outputs[0][1:]).verified()
    )

    lines = out.getvalue().splitlines()
    assert lines[0] == "flights: 5 epochs (0 to 4) published with 19 rows, exactlyOnce"
    assert lines[1] == "  1 lost, 0 duplicated, 0 reordered"
    assert lines[2].startswith("  lost write: epoch 0 has 3 of 4 rows")


def test_the_report_is_json_for_programs() -> None:
    report = json.loads(as_json("flights", {"flights": good().verified()}))

    assert (report["job"], report["good"], report["lost"], report["delivery"]) == ("flights", True, 0, "exactlyOnce")
    assert report["unseen"] == {"input_records": 0, "epochs": 0, "rows": 0}


def test_the_reports_of_lanes_are_one_object() -> None:
    lanes = {f"flights.lane-{number}": good().verified() for number in range(2)}
    report = json.loads(as_json("flights", lanes))

    assert (report["job"], report["good"]) == ("flights", True)
    assert [lane["job"] for lane in report["lanes"]] == [*lanes]
