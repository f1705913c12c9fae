"""A Delta table that would change rows, or refuse some, is refused in words: the library itself casts in silence."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from tandem.replica.rows import EpochRows
from tandem.replica.table_access import check_fit, reach
from tandem.replica.tables import TableError, TableSink
from tandem.topics.declared import TABLE_PREFIX
from unit.replica.making import MakingTableWriter

INT = pa.schema([("a", pa.int32())])


def write(folder: Path, rows: pa.Table, epoch: int = 0) -> None:
    """An epoch with these rows."""
    nothing = pa.array([None] * rows.num_rows, pa.binary())
    table = pa.table(
        {
            "sink": ["archive"] * rows.num_rows,
            "key": nothing,
            "value": nothing,
            TABLE_PREFIX + "archive": rows.to_struct_array().combine_chunks(),
        }
    )
    MakingTableWriter("job", [TableSink("archive", "delta", str(folder))]).write(
        EpochRows.of(epoch, table, ordered=True)
    )


CHANGING = {
    "a fraction in whole numbers": (INT, pa.array([1.9]), "a is double in the job, but integer in the table"),
    "a number that is too large": (INT, pa.array([2**40]), "a is long in the job, but integer"),
    "a finer float": (pa.schema([("a", pa.float32())]), pa.array([1e300]), "a is double in the job, but float"),
    "a time as a day": (
        pa.schema([("a", pa.date32())]),
        pa.array([1], pa.timestamp("us", "UTC")),
        "a is timestamp in the job, but date",
    ),
    "a time without its zone": (
        pa.schema([("a", pa.timestamp("us"))]),
        pa.array([1], pa.timestamp("us", "UTC")),
        "a is timestamp in the job, but timestamp_ntz",
    ),
    "a finer decimal": (
        pa.schema([("a", pa.decimal128(10, 2))]),
        pa.array([Decimal("1.2355")], pa.decimal128(12, 4)),
        r"a is decimal\(12,4\) in the job, but decimal\(10,2\)",
    ),
    "text for a number": (pa.schema([("a", pa.string())]), pa.array([1]), "a is long in the job, but string"),
    "a null in a column that has none": (
        pa.schema([pa.field("a", pa.int32(), nullable=False)]),
        pa.array([1], pa.int32()),
        "a may be null in the job, but is NOT NULL",
    ),
    "a column that the table has not": (
        pa.schema([("b", pa.int32())]),
        pa.array([1], pa.int32()),
        "the table has no column a; column b of the table is not selected by the job",
    ),
    "numbers within a list": (
        pa.schema([("a", pa.list_(pa.int32()))]),
        pa.array([[1.5]]),
        'a is {"type": "array", "elementType": "double"}',
    ),
}


@pytest.mark.parametrize("name", CHANGING)
def test_a_table_that_would_change_rows_is_refused_with_both_types(tmp_path: Path, name: str) -> None:
    schema, values, said = CHANGING[name]
    DeltaTable.create(str(tmp_path), schema)

    with pytest.raises(TableError, match=f"sink archive: the rows do not fit the Delta table .*{said}"):
        write(tmp_path, pa.table({"a": values}))
    assert DeltaTable(str(tmp_path)).to_pyarrow_table().num_rows == 0


@pytest.mark.parametrize("name", CHANGING)
def test_a_table_that_would_change_rows_is_refused_at_the_start(tmp_path: Path, name: str) -> None:
    schema, values, said = CHANGING[name]
    DeltaTable.create(str(tmp_path), schema)
    rows = from_arrow_schema(pa.schema([("a", values.type)]))

    with pytest.raises(TableError, match=f"sink archive: the rows do not fit the Delta table .*{said}"):
        check_fit([TableSink("archive", "delta", str(tmp_path))], sinks(rows))


def test_a_table_that_fits_or_is_not_there_starts(tmp_path: Path) -> None:
    DeltaTable.create(str(tmp_path / "there"), INT)
    rows = from_arrow_schema(INT)

    for kind, folder in (("delta", "there"), ("delta", "to be"), ("parquet", "any")):
        check_fit([TableSink("archive", kind, str(tmp_path / folder))], sinks(rows))


def sinks(rows: StructType) -> StructType:
    """The rows of all sinks."""
    return StructType([StructField(TABLE_PREFIX + "archive", rows)])


def constrained(folder: str) -> None:
    DeltaTable.create(folder, INT)
    DeltaTable(folder).alter.add_constraint({"positive": "a > 0"})


def mapped(folder: str) -> None:
    modes = {"delta.columnMapping.mode": "name", "delta.minReaderVersion": "2", "delta.minWriterVersion": "5"}
    DeltaTable.create(folder, INT, configuration=modes)


CLOSED: dict[str, tuple[Callable[[str], None], str]] = {
    "a constraint": (constrained, "it has the constraint positive: a row that it refuses would stop the job"),
    "mapped columns": (mapped, r"its columns are mapped \(delta.columnMapping.mode\), and values would be lost"),
}


@pytest.mark.parametrize("name", CLOSED)
def test_a_table_that_takes_no_rows_of_a_job_is_refused_at_its_start_and_later(tmp_path: Path, name: str) -> None:
    make, said = CLOSED[name]
    make(str(tmp_path))

    with pytest.raises(TableError, match=said):
        reach([TableSink("archive", "delta", str(tmp_path))])
    with pytest.raises(TableError, match=said):
        write(tmp_path, pa.table({"a": pa.array([1], pa.int32())}))


def test_rows_go_into_a_table_of_wider_numbers_other_order_and_one_that_the_job_made(tmp_path: Path) -> None:
    wide = pa.schema([("b", pa.float64()), ("a", pa.int64())])
    DeltaTable.create(str(tmp_path / "wide"), wide)
    never_null = pa.table([pa.array([1], pa.int32())], pa.schema([pa.field("a", pa.int32(), nullable=False)]))

    write(tmp_path / "wide", pa.table({"a": pa.array([1], pa.int32()), "b": pa.array([0.5], pa.float32())}))
    write(tmp_path / "made", never_null)

    assert DeltaTable(str(tmp_path / "wide")).to_pyarrow_table().to_pylist() == [{"b": 0.5, "a": 1}]
    reach([TableSink("archive", "delta", str(tmp_path / "made"))])
    write(tmp_path / "made", pa.table({"a": pa.array([None], pa.int32())}), epoch=1)
    rows = DeltaTable(str(tmp_path / "made")).to_pyarrow_table().to_pylist()
    assert sorted(row["a"] or 0 for row in rows) == [0, 1], "changed code may give a null"
