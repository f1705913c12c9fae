"""An Iceberg table holds each row as it is, or the row is refused, or the table: nothing is tried for ever, or changed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.expressions import EqualTo
from pyiceberg.transforms import BucketTransform, DayTransform, MonthTransform, TruncateTransform

from tandem.replica.iceberg import IcebergWriter, newest_epochs
from tandem.replica.iceberg_catalog import IcebergTable
from tandem.replica.tables import TableError
from unit.replica.iceberg_tables import EACH, content, lake, made, partitioned, rows, write

MOMENTS = pa.timestamp("us", "UTC")

FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999


@pytest.fixture
def table(tmp_path: Path) -> IcebergTable:
    return lake(tmp_path)


# Rows ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [MOMENTS, pa.timestamp("us")])
@pytest.mark.parametrize("within", ["a column", "a struct"])
def test_a_time_outside_of_the_years_1_to_9999_is_refused_and_the_other_rows_are_written(
    table: IcebergTable, kind: pa.DataType, within: str
) -> None:
    values: list[Any] = [FIRST, LAST, None, LAST + 1, FIRST - 1, 2**63 - 1]
    if within == "a struct":
        kind, values = pa.struct([("t", kind)]), [None if one is None else {"t": one} for one in values]

    refused = write(table, rows(kind, *values))

    assert set(refused) == {3, 4, 5}
    assert all(why.startswith("it has a time outside of the years 1 to 9999") for why in refused.values())
    assert content(table)["n"].to_pylist() == [0, 1, 2]


def test_a_time_within_an_array_may_be_any(table: IcebergTable) -> None:
    kind = pa.list_(pa.struct([("t", MOMENTS)]))

    assert write(table, rows(kind, [{"t": 0}], [{"t": 2**62}])) == {}
    assert content(table)["n"].to_pylist() == [0, 1]


@pytest.mark.parametrize(
    "text", ["\ud7ff" * 17, "a" * 15 + "\ud7ffb", "\U0010ffff" * 15 + "\ud7ff\U0010ffff", "\ud7ff"]
)
def test_a_text_with_the_last_character_before_the_surrogates_is_written_and_found(
    table: IcebergTable, text: str
) -> None:
    """The library makes a bound of the largest text of a column, with the next character."""
    assert write(table, rows(pa.string(), "a", text, None)) == {}

    there = table.catalog().load_table(table.table)
    assert there.scan(row_filter=EqualTo("v", value=text)).to_arrow()["n"].to_pylist() == [1]
    assert content(table)["v"].to_pylist() == ["a", text, None]


STRUCT = pa.struct([("a", pa.int64())])
NULLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "array": (pa.list_(STRUCT), [[{"a": 1}, None, {"a": None}], None, [], [{"a": 2}]]),
    "map": (pa.map_(pa.string(), STRUCT), [[("k", {"a": 1}), ("l", None)], None, [], [("m", {"a": 2})]]),
    "array in a struct": (
        pa.struct([("v", pa.list_(STRUCT))]),
        [{"v": [{"a": 1}]}, {"v": None}, None, {"v": []}, {"v": [{"a": 2}]}],
    ),
    "array in an array": (pa.list_(pa.list_(STRUCT)), [[[{"a": 1}], None, []], None, [], [[{"a": 2}]]]),
    "map in an array": (pa.list_(pa.map_(pa.string(), STRUCT)), [[[("k", {"a": 1})], None, []], None, []]),
    "array in a struct in an array": (
        pa.list_(pa.struct([("v", pa.list_(STRUCT))])),
        [[{"v": None}, {"v": [{"a": 1}, None]}, None], None, []],
    ),
    "map in a struct in a map": (
        pa.map_(pa.string(), pa.struct([("v", pa.map_(pa.string(), STRUCT))])),
        [[("k", {"v": None}), ("l", {"v": [("m", {"a": 1})]}), ("n", None)], None, []],
    ),
    "array of numbers": (pa.list_(pa.int64()), [[1, None], None, []]),
}


def files(folder: Path) -> list[Any]:
    """What is in the files: the library reads some nulls as empty, too."""
    found = [
        row for path in (folder / "warehouse").rglob("*.parquet") for row in pq.ParquetFile(path).read().to_pylist()
    ]
    return [row["v"] for row in sorted(found, key=lambda row: row["n"])]


@pytest.mark.parametrize("from_row", [0, 1])
@pytest.mark.parametrize("name", NULLS)
def test_what_is_null_is_null_in_the_file_and_what_is_empty_is_empty(
    table: IcebergTable, tmp_path: Path, name: str, from_row: int
) -> None:
    kind, values = NULLS[name]

    assert write(table, rows(kind, *values).slice(from_row)) == {}

    assert files(tmp_path) == values[from_row:]


# Tables --------------------------------------------------------------------------------------------------------------


LONG: dict[str, tuple[pa.DataType, Any, list[Any], list[Any]]] = {
    "text": (pa.string(), EACH, ["x" * 253, "é" * 42, None, ""], ["x" * 254, "é" * 43, "/" * 85]),
    "bytes": (pa.binary(), EACH, [b"x" * 189, None], [b"x" * 192, b"\xff" * 100]),
    "beginnings": (pa.string(), TruncateTransform(100), ["x" * 5_000, "é" * 42], ["é" * 43]),
    "hashes": (pa.string(), BucketTransform(4), ["x" * 5_000], []),
}


@pytest.mark.parametrize("name", LONG)
def test_a_row_that_is_too_long_for_the_folder_of_its_partition_is_refused_and_no_other(
    table: IcebergTable, name: str
) -> None:
    kind, by, good, bad = LONG[name]
    partitioned(table, kind, by)

    refused = write(table, rows(kind, *good, *bad))

    assert set(refused) == set(range(len(good), len(good) + len(bad)))
    assert all("its v is too long for the name of a folder" in why for why in refused.values())
    assert sorted(content(table)["n"].to_pylist()) == list(range(len(good)))


def test_a_partition_by_a_column_within_another_is_looked_at(table: IcebergTable) -> None:
    kind = pa.struct([("t", pa.string())])
    made(table, pa.schema([("n", pa.int64()), ("v", kind)]))
    with table.catalog().load_table(table.table).update_spec() as update:
        update.add_field("v.t", EACH, "t")

    assert set(write(table, rows(kind, {"t": "x" * 254}, {"t": "x"}, None))) == {0}


def test_what_the_library_cannot_compute_is_no_trouble_that_passes(
    table: IcebergTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overflows(*_: Any) -> None:
        raise OverflowError("date value out of range")

    monkeypatch.setattr(IcebergWriter, "_commit", overflows)

    with pytest.raises(TableError, match=r"written: OverflowError: date value out of range\. Change the job's"):
        write(table, rows(pa.int64(), 1))


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_a_table_that_is_partitioned_by_a_floating_number_is_refused(table: IcebergTable, kind: pa.DataType) -> None:
    partitioned(table, kind)

    with pytest.raises(TableError, match=r"sink lake: .* takes no rows of a job: it is partitioned by v, which is"):
        newest_epochs([table])
    with pytest.raises(TableError, match=r"rows with 0\.0, -0\.0 or NaN there would be written twice, or never"):
        write(table, rows(kind, 0.0, -0.0, 1.0))


def test_a_partition_by_a_decimal_or_a_floating_number_elsewhere_is_none_of_those(table: IcebergTable) -> None:
    partitioned(table, pa.decimal128(10, 2))

    assert newest_epochs([table]) == {"lake": -1}
    assert write(table, rows(pa.decimal128(10, 2), 1, 2)) == {}
    other = IcebergTable("lake", "shop.others", table.options, "job")
    assert write(other, rows(pa.float64(), 0.0, -0.0, float("nan"))) == {}
    assert content(other)["n"].to_pylist() == [0, 1, 2]


def test_a_catalog_in_a_database_has_the_name_that_is_given(table: IcebergTable) -> None:
    """It keeps its tables by its own name: with another one it has others."""
    theirs = load_catalog("prod", **table.options)
    theirs.create_namespace("shop")
    theirs.create_table("shop.orders", pa.schema([("n", pa.int64()), ("v", pa.int64())]))
    named = IcebergTable("lake", "shop.orders", {**table.options, "name": "prod"}, "job")

    assert write(named, rows(pa.int64(), 7)) == {}
    assert write(table, rows(pa.int64(), 8)) == {}

    assert theirs.load_table("shop.orders").scan().to_arrow()["v"].to_pylist() == [7]
    assert load_catalog("tandem-lake", **table.options).load_table("shop.orders").scan().to_arrow()[
        "v"
    ].to_pylist() == [8]


# What is known at the start ------------------------------------------------------------------------------------------

BY: dict[str, tuple[Any, pa.DataType, list[Any]]] = {
    "day": (DayTransform(), MOMENTS, [FIRST, LAST, -1, 0, None]),
    "month": (MonthTransform(), pa.date32(), [-1, 0, None]),
    "bucket[4]": (BucketTransform(4), pa.string(), ["a", "", "ü", None]),
    "truncate[3]": (TruncateTransform(3), pa.int64(), [-(2**63), 2**63 - 1, -1, None]),
}


@pytest.mark.parametrize("by", BY)
def test_a_table_that_is_partitioned_by_days_or_the_like_is_written(table: IcebergTable, by: str) -> None:
    transform, kind, values = BY[by]
    partitioned(table, kind, transform)

    assert newest_epochs([table]) == {"lake": -1}
    assert write(table, rows(kind, *values)) == {}
    assert content(table).num_rows == len(values)


@pytest.mark.parametrize("by", BY)
def test_a_partition_that_needs_a_package_which_is_not_there_is_refused_at_the_start(
    table: IcebergTable, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    transform, kind, _ = BY[by]
    partitioned(table, kind, transform)
    monkeypatch.setattr("tandem.replica.iceberg.find_spec", lambda _: None)

    with pytest.raises(TableError, match=rf"it is partitioned by {re.escape(by)} of v, which needs .* pyiceberg-core"):
        newest_epochs([table])


def test_a_partition_by_a_truncated_decimal_is_refused_at_the_start(table: IcebergTable) -> None:
    partitioned(table, pa.decimal128(10, 2), TruncateTransform(10))

    with pytest.raises(TableError, match=r"partitioned by truncate\[10\] of v, which is decimal\(10, 2\): the library"):
        newest_epochs([table])
