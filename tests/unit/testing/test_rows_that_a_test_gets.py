"""The rows that a test gets are easy to compare with what it expects, and lose nothing."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tandem.testing.rows import Result, Row, rows_of

NAMES = ("sink", "key", "value", "partition", "headers", "table_t")
TYPES = (
    *(pa.string(), pa.binary(), pa.binary(), pa.int32()),
    pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    pa.struct([("id", pa.int64())]),
)


def rows(*given: tuple[Any, ...]) -> list[Row]:
    columns = list(zip(*(row + (None,) * (6 - len(row)) for row in given), strict=True))
    arrays = [pa.array(column, kind) for column, kind in zip(columns, TYPES, strict=True)]
    return rows_of(3, pa.table(dict(zip(NAMES, arrays, strict=True))))


def test_keys_are_text_and_values_what_json_says_where_they_are_that() -> None:
    found = rows(("out", b"k", b'{"n": 1}'), ("out", None, b"[1]"), ("out", b"\xff", b"12"), ("out", b"", None))

    assert [(row.key, row.value) for row in found] == [("k", {"n": 1}), (None, [1]), (b"\xff", "12"), ("", None)]
    assert [(row.raw_key, row.raw_value) for row in found[:2]] == [(b"k", b'{"n": 1}'), (None, b"[1]")]
    assert {row.epoch for row in found} == {3}


def test_values_that_only_look_like_json_stay_as_they_are() -> None:
    assert [row.value for row in rows(("out", None, b"{no"), ("out", None, b"\xff{"))] == ["{no", b"\xff{"]


def test_a_row_has_its_partition_and_headers_and_that_of_a_table_its_columns() -> None:
    sent, of_table = rows(
        ("out", None, b"v", 2, [{"key": "h", "value": b"x"}, None]), ("t", None, None, None, None, {"id": 7})
    )

    assert (sent.partition, sent.headers) == (2, (("h", b"x"), (None, None)))
    assert (of_table.sink, of_table.value) == ("t", {"id": 7})


def result() -> Result:
    found = [
        Row("a", 0, "k", 1),
        Row("b", 0, None, 2),
        Row("a", 1, None, 3),
        Row("dead-letter", 1, None, {"reason": "x"}),
    ]
    return Result(("a", "b"), 2, tuple(found))


def test_rows_are_asked_for_by_sink_and_epoch() -> None:
    assert [row.value for row in result()["a"]] == [1, 3]
    assert (result().values("a", 1), result().values("b", 1)) == ([3], [])
    assert (result().dead_letters(), result().dead_letters(0)) == ([{"reason": "x"}], [])


def test_a_sink_or_an_epoch_that_is_not_there_is_named() -> None:
    with pytest.raises(KeyError, match=r"no sink 'c'. Its sinks are \['a', 'b'\]"):
        result()["c"]
    with pytest.raises(IndexError, match="no epoch 2: 2 were computed"):
        result().values("a", 2)
    with pytest.raises(IndexError, match="no epoch -1"):
        result().dead_letters(-1)
