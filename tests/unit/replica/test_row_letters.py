"""The dead letter of a table's row says what the row holds, as far as it fits."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tandem.replica.records import records_of
from tandem.replica.rows import EpochRows
from tandem.topics.declared import SinkTopics


def letter(row: dict[str, Any], kind: pa.DataType, most_bytes: int = 10_000) -> tuple[int, dict[str, Any]]:
    """The letter of a table's row behind one of a topic, with its size in bytes."""
    table = pa.table(
        {
            "sink": ["out", "archive"],
            "key": pa.array([b"k", None], pa.binary()),
            "value": pa.array([b"v", None], pa.binary()),
            "table_archive": pa.array([None, row], kind),
        }
    )
    sinks = SinkTopics({"out": "out"}, {"out": 1, "letters": 1}, "letters", most_bytes)
    _, found = records_of(EpochRows.of(7, table, ordered=True), sinks, {1: "value too long"})
    assert found.topic == "letters"
    return len(found.value or b""), json.loads(found.value or b"")


def test_the_letter_has_the_row_as_json() -> None:
    kind = pa.struct(
        {
            "n": pa.int64(), "x": pa.float64(), "price": pa.decimal128(5, 2), "day": pa.date32(),
            "at": pa.timestamp("us", tz="UTC"), "raw": pa.binary(), "tags": pa.map_(pa.string(), pa.list_(pa.string())),
        }
    )  # fmt: skip
    row = {"n": 5, "x": float("nan"), "price": Decimal("1.50"), "day": date(2024, 2, 29), "raw": b"\xff"}
    row |= {"at": datetime(2024, 2, 29, 1, tzinfo=UTC), "tags": [("é", ["a", None])]}
    _, found = letter(row, kind)

    value = json.loads(found.pop("value"))
    assert found == {"sink": "archive", "epoch": 7, "index": 1, "key": None, "reason": "value too long"}
    assert value == {
        "n": 5, "x": "nan", "price": "1.50", "day": "2024-02-29", "at": "2024-02-29T01:00:00+00:00", "raw": "\ufffd",
        "tags": [["é", ["a", None]]],
    }  # fmt: skip


@pytest.mark.parametrize("day", [2**31 - 1, -(2**31)])
def test_a_day_that_python_does_not_know_is_a_number(day: int) -> None:
    assert json.loads(letter({"day": day}, pa.struct({"day": pa.date32()}))[1]["value"]) == {"day": day}


def test_a_long_row_is_cut_so_that_the_letter_fits() -> None:
    size, found = letter({"text": "é" * 100_000}, pa.struct({"text": pa.string()}), most_bytes=2_000)

    assert 1_900 < size <= 2_000
    assert found["value"].startswith('{"text": "éé')
    assert (found["truncated"], found["valueBytes"]) == (True, 200_012)
