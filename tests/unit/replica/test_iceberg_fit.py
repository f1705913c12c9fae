"""An Iceberg table holds each row as it is, or the row is refused, or the table: nothing is tried for ever, or changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.transforms import IdentityTransform

from tandem.replica.iceberg import IcebergTable, IcebergWriter, newest_epochs
from tandem.replica.tables import TableError

MOMENTS = pa.timestamp("us", "UTC")
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999


@pytest.fixture
def table(tmp_path: Path) -> IcebergTable:
    options = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}
    return IcebergTable("lake", "shop.orders", options, "job")


def rows(kind: pa.DataType, *values: Any) -> pa.StructArray:
    return pa.array(
        [{"n": n, "v": value} for n, value in enumerate(values)], pa.struct([("n", pa.int64()), ("v", kind)])
    )


def write(table: IcebergTable, some: pa.StructArray) -> dict[int, str]:
    return dict(IcebergWriter(table, 0).write(0, some, range(len(some))))


def content(table: IcebergTable) -> pa.Table:
    return table.catalog().load_table(table.table).scan().to_arrow()


def partitioned(table: IcebergTable, kind: pa.DataType) -> None:
    """Make the table, with a partition for each value of `v`, as another tool may."""
    catalog = table.catalog()
    catalog.create_namespace("shop")
    made = catalog.create_table(table.table, pa.schema([("n", pa.int64()), ("v", kind)]))
    with made.update_spec() as update:
        update.add_field("v", IdentityTransform(), "v")


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


def test_a_value_that_is_too_long_for_the_folder_of_its_partition_is_no_trouble_that_passes(
    table: IcebergTable,
) -> None:
    partitioned(table, pa.string())

    with pytest.raises(TableError, match=r"sink lake: .* is too long for the name of a folder: partition the table by"):
        write(table, rows(pa.string(), "a", "x" * 300))


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
