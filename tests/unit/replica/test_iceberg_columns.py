"""Whether the columns that a job selects fit those of an Iceberg table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from tandem.replica.iceberg import check_fit, newest_epochs
from tandem.replica.iceberg_catalog import IcebergTable
from tandem.replica.tables import TableError
from unit.replica.iceberg_tables import EACH, lake, made, write


@pytest.fixture
def table(tmp_path: Path) -> IcebergTable:
    return lake(tmp_path)


ROWS = StructType([StructField("n", LongType(), nullable=False), StructField("v", StringType())])
UNFIT: dict[str, tuple[pa.Schema, str]] = {
    "a column that is not there": (pa.schema([("n", pa.int64())]), "the table has no column v"),
    "another type": (
        pa.schema([("n", pa.int64()), ("v", pa.int64())]),
        "column v is string in the job, but long in the table",
    ),
    "a narrower type": (
        pa.schema([("n", pa.int32()), ("v", pa.string())]),
        "column n is long in the job, but int in the table",
    ),
    "a required column": (
        pa.schema([("n", pa.int64()), pa.field("v", pa.string(), nullable=False)]),
        "column v may be null in the job, but is required in the table",
    ),
    "a required column that is not selected": (
        pa.schema([("n", pa.int64()), ("v", pa.string()), pa.field("w", pa.string(), nullable=False)]),
        "column w of the table is required, but the job does not select it",
    ),
    "a struct": (
        pa.schema([("n", pa.int64()), ("v", pa.struct([("a", pa.int64())]))]),
        "column v is string in the job, but struct",
    ),
}
FITTING = {
    "the same": pa.schema([("n", pa.int64()), ("v", pa.string())]),
    "in another order, with more": pa.schema([("v", pa.string()), ("w", pa.string()), ("n", pa.int64())]),
    "as it is": pa.schema([pa.field("n", pa.int64(), nullable=False), ("v", pa.string())]),
}


def sinks(kind: StructType) -> StructType:
    """The rows of all sinks."""
    return StructType([StructField("table_lake", kind)])


@pytest.mark.parametrize("name", UNFIT)
def test_rows_that_do_not_fit_the_table_are_refused_at_the_start(
    table: IcebergTable, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    schema, said = UNFIT[name]
    made(table, schema)

    with pytest.raises(TableError, match=f"sink lake: the rows do not fit the iceberg table shop.orders.*{said}"):
        check_fit([table], sinks(ROWS))
    assert capsys.readouterr().out == ""


def test_a_table_that_is_partitioned_by_what_the_job_does_not_select_is_refused_at_the_start(
    table: IcebergTable,
) -> None:
    """The library fails at each write, and it would be tried for ever."""
    made(table, pa.schema([("n", pa.int64()), ("v", pa.string()), ("w", pa.string())]))
    with table.catalog().load_table(table.table).update_spec() as update:
        update.add_field("w", EACH, "w")

    with pytest.raises(TableError, match="the table is partitioned by w, which the job does not select"):
        check_fit([table], sinks(ROWS))


def test_a_struct_within_that_does_not_fit_is_refused_at_the_start(
    table: IcebergTable, capsys: pytest.CaptureFixture[str]
) -> None:
    made(table, pa.schema([("v", pa.list_(pa.struct([("a", pa.int32())])))]))
    kind = StructType([StructField("v", ArrayType(StructType([StructField("a", LongType())])))])

    with pytest.raises(
        TableError, match=r"column v is list<struct<a: optional long>> in the job, but list<struct<a: o"
    ):
        check_fit([table], sinks(kind))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", FITTING)
def test_rows_that_fit_are_taken(table: IcebergTable, name: str) -> None:
    made(table, FITTING[name])

    check_fit([table], sinks(ROWS))

    fields = [pa.field("n", pa.int64(), nullable=False), pa.field("v", pa.string())]
    assert write(table, pa.array([{"n": 1, "v": "a"}], pa.struct(fields))) == {}


def test_a_table_that_is_not_there_will_be_made(table: IcebergTable) -> None:
    check_fit([table], sinks(ROWS))

    assert newest_epochs([table]) == {"lake": -1}
