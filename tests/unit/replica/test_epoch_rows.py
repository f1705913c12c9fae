"""An epoch's rows: the digest sees every difference that a reader would see and no other, and rows are sorted if need be."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tandem.replica.rows import EpochRows, digest

SAME_EACH_TIME = settings(derandomize=True, database=None, deadline=None, max_examples=50)


class Row(NamedTuple):
    """One output row."""

    key: bytes | None
    value: bytes | None
    sink: str = "out"
    total: float | None = None


contents = st.none() | st.binary(max_size=6)
any_row = st.builds(Row, contents, contents, st.sampled_from(["out", "late"]), st.none() | st.floats(allow_nan=False))
any_rows = st.lists(any_row, max_size=8)
SCHEMA = pa.schema(
    [
        ("sink", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("table_totals", pa.struct([("total", pa.float64())])),
    ]
)


def table(rows: Sequence[Row], under_nulls: bytes = b"") -> pa.Table:
    """Rows as the engine gives them; `under_nulls` lies in the buffers where a value is null."""
    columns = [
        pa.array([row.sink for row in rows], pa.string()),
        _binary([row.key for row in rows], under_nulls),
        _binary([row.value for row in rows], under_nulls),
        pa.array([{"total": row.total} for row in rows], SCHEMA.field("table_totals").type),
    ]
    return pa.table(columns, schema=SCHEMA)


def _binary(values: Sequence[bytes | None], under_nulls: bytes) -> pa.Array:
    filled = pa.array([under_nulls if value is None else value for value in values], pa.binary())
    valid = pa.array([value is not None for value in values], pa.bool_())
    buffers = [valid.buffers()[1], *filled.buffers()[1:]]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers)


@SAME_EACH_TIME
@given(any_rows, st.integers(0, 8), st.binary(min_size=1, max_size=5))
def test_the_digest_does_not_depend_on_how_arrow_holds_the_rows(rows: list[Row], cut: int, rubbish: bytes) -> None:
    expected = digest(table(rows))
    other = table([Row(b"before", b"x"), *rows, Row(b"after", b"y")])

    assert digest(pa.concat_tables([table(rows[:cut]), table(rows[cut:])])) == expected
    assert digest(other.slice(1, len(rows))) == expected
    assert digest(table(rows, under_nulls=rubbish)) == expected


@SAME_EACH_TIME
@given(any_rows, any_rows)
def test_two_epochs_have_the_same_digest_only_if_their_rows_are_the_same_in_the_same_order(
    some: list[Row], others: list[Row]
) -> None:
    exactly = [repr(rows) for rows in (some, others)]  # 0.0 and -0.0 are two values
    assert (digest(table(some)) == digest(table(others))) == (exactly[0] == exactly[1])


def test_the_smallest_differences_change_the_digest() -> None:
    rows = [Row(b"ab", b"c"), Row(None, b"d", total=0.1 + 0.2)]
    others = {
        "a byte": [Row(b"ab", b"C"), rows[1]],
        "where the key ends": [Row(b"a", b"bc"), rows[1]],
        "where a value ends": [Row(b"ab", b"cd"), rows[1]._replace(value=b"")],
        "the order": rows[::-1],
        "no key instead of an empty one": [rows[0], rows[1]._replace(key=b"")],
        "the sink": [rows[0]._replace(sink="late"), rows[1]],
        "the last bit of a sum": [rows[0], rows[1]._replace(total=0.3)],
        "a row less": rows[:1],
        "a row more": [*rows, rows[1]],
    }
    digests = {name: digest(table(changed)) for name, changed in others.items()} | {"nothing": digest(table(rows))}

    assert len(set(digests.values())) == len(digests), digests


def test_the_digest_of_rows_that_nest_is_that_of_older_versions_which_a_rolling_change_leaves_beside() -> None:
    row = {"text": "caf\xe9", "raw": b"\xff", "day": date(2026, 1, 2), "many": [("a", [1.5, None])]}
    kind = {"text": pa.string(), "raw": pa.binary(), "day": pa.date32()}
    many = pa.map_(pa.string(), pa.list_(pa.float64()))

    nested = pa.table({"table_x": pa.array([row, None], pa.struct({**kind, "many": many}.items()))})

    assert digest(nested) == "25cbbd2dbd621ffd982a7cf071aeb4a4"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (slice(0, 3), "74366f98d40fc0df1992ded8f43a767d"),
        (slice(1, 3), "f58560ebb7ae9af00efc1f47618daacb"),
        (slice(0, 0), "b8abb2d60e0a60976e47b435836412d2"),
    ],
)
def test_so_is_that_of_flat_rows_whichever_part_of_arrows_memory_they_are(rows: slice, expected: str) -> None:
    whole = pa.table(
        {
            "sink": pa.array(["out", "late", "out"]),
            "key": pa.array([b"a", None, b""], pa.binary()),
            "value": pa.array([None, b"\xff\x00", b"v"], pa.binary()),
            "partition": pa.array([1, None, 3], pa.int32()),
        }
    )

    assert digest(whole[rows]) == expected


STRANGE: dict[str, tuple[Any, Any, list[Any]]] = {
    "text": (pa.string(), pa.binary(), [b"caf\xe9", b"caf\xe8", b"b'caf\\xe9'", b"caf"]),
    "instants": (pa.timestamp("us", tz="UTC"), pa.int64(), [2**62, 2**62 + 1, 0]),
    "days": (pa.date32(), pa.int32(), [2**30, 2**30 + 1, 0]),
}


def strange(name: str, values: Sequence[object]) -> pa.Table:
    """Rows of a table sink, as Spark may give them; `values` lie in a map in a list."""
    kind, plain, _ = STRANGE[name]

    def nested(inner: pa.DataType) -> pa.DataType:
        return pa.struct([("list", pa.list_(pa.map_(pa.string(), inner)))])

    rows = pa.array([{"list": [[("a", value)]]} for value in values], nested(plain)).view(nested(kind))
    return pa.table({"sink": pa.array(["x"] * len(rows), pa.string()), "table_x": rows})


@pytest.mark.parametrize("name", STRANGE)
def test_what_python_has_no_value_for_counts_to_its_last_bit(name: str) -> None:
    values = STRANGE[name][2]

    assert len({digest(strange(name, [value])) for value in values}) == len(values)


def test_the_type_of_a_column_counts() -> None:
    assert digest(pa.table({"n": pa.array([1], pa.int32())})) != digest(pa.table({"n": pa.array([1], pa.int64())}))


@SAME_EACH_TIME
@given(st.lists(any_row, max_size=8))
def test_rows_of_several_tasks_are_sorted_by_sink_and_key_and_else_keep_their_order(rows: list[Row]) -> None:
    found = EpochRows.of(3, table(rows), ordered=False).table.to_pylist()

    expected = sorted(rows, key=lambda row: (row.sink, row.key is None, row.key or b""))
    assert found == table(expected).to_pylist()


def test_the_last_row_of_a_key_is_that_of_the_last_record() -> None:
    rows = [Row(b"k", b"20"), Row(b"k", None), Row(b"j", b"1"), Row(b"k", b"100"), Row(None, b"9"), Row(None, b"10")]
    found = EpochRows.of(3, table(rows), ordered=False).table

    assert [value for key, value in zip(*(found[n].to_pylist() for n in ("key", "value")), strict=True) if key == b"k"] == [
        b"20", None, b"100",
    ]  # fmt: skip
    assert found["value"].to_pylist()[-2:] == [b"9", b"10"]


def test_rows_that_come_in_the_same_order_everywhere_keep_it() -> None:
    rows = [Row(b"b", b"1"), Row(b"a", b"2")]

    assert EpochRows.of(3, table(rows), ordered=True).table.to_pylist() == table(rows).to_pylist()
