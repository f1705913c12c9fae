"""A partitioned Delta table holds each row as it is, or the row is a dead letter: some values have no partition."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tandem.replica.records import records_of
from tandem.replica.rows import EpochRows
from tandem.replica.table_access import reach
from tandem.replica.tables import TableError, TableSink, TableWriter
from tandem.topics.declared import SinkTopics

MICROSECONDS = pa.timestamp("us", "UTC")


def partitioned(folder: Path, kind: pa.DataType, column: str = "p") -> TableSink:
    """A table that is partitioned by a column of this type, as another tool made it."""
    schema = pa.schema([("n", pa.int64()), (column, kind)])
    DeltaTable.create(str(folder), schema, partition_by=[column])
    return TableSink("archive", "delta", str(folder))


def rows(kind: pa.DataType, values: Sequence[Any], column: str = "p", epoch: int = 0) -> EpochRows:
    """A row of the table for each value, numbered, after one of a Kafka sink."""
    there = pa.array(
        [{"n": n, column: value} for n, value in enumerate(values)], pa.struct([("n", pa.int64()), (column, kind)])
    )
    count = len(values) + 1
    table = {
        "sink": pa.array(["out", *["archive"] * len(values)]),
        "key": pa.array([None] * count, pa.binary()),
        "value": pa.array([b""] * count, pa.binary()),
        "table_archive": pa.concat_arrays([pa.nulls(1, there.type), there]),
    }
    return EpochRows.of(epoch, pa.table(table), ordered=True)


def written(sink: TableSink, some: EpochRows) -> tuple[dict[int, Any], dict[int, str]]:
    """What is in the table, and what is in the letters with its reason, each by the number of the row."""
    deltas = reach([sink])
    TableWriter("job", [sink], partitions=deltas).write(some)
    topics = SinkTopics({"out": "out"}, {"out": 1, "letters": 1}, "letters", 1_000_000, deltas=deltas)
    letters = [json.loads(record.value or b"") for record in records_of(some, topics) if record.topic == "letters"]
    table = DeltaTable(sink.path).to_pyarrow_table()
    column = (set(table.column_names) - {"n"}).pop()
    there = dict(zip(table["n"].to_pylist(), table[column].to_pylist(), strict=True))
    return there, {letter["index"] - 1: letter["reason"] for letter in letters}


KINDS: dict[str, tuple[pa.DataType, Sequence[Any], Sequence[Any], str]] = {
    "empty text": (
        pa.string(),
        ["a", None, " ", "a/b=%", "\n"],
        [""],
        "p is an empty text",
    ),
    "the name of null": (
        pa.string(),
        ["a", None],
        ["__HIVE_DEFAULT_PARTITION__"],
        "p is the name that the folder of null has",
    ),
    "long text": (pa.string(), ["x" * 253, "é" * 42], ["x" * 254, "é" * 43, "/" * 85], "p is too long for the name"),
    "decimal": (
        pa.decimal128(10, 2),
        [Decimal("-1.00"), Decimal("0.05"), None],
        [Decimal("-0.01"), Decimal("-12.34")],
        "nobody could read the table any more",
    ),
    "double": (pa.float64(), [1.5, float("inf"), -0.0, 1e250], [1e300, 5e-324], "p is too long for the name"),
    "time": (MICROSECONDS, [0, -62_135_596_800_000_000], [253_402_300_800_000_000], "outside of the years 1 to 9999"),
    "number": (pa.int64(), [0, -(2**63)], [], ""),
    "day": (pa.date32(), [0, -719_162, 2_932_896], [2_932_897], "it has a DATE outside of the years 1 to 9999"),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_row_is_in_its_partition_as_it_is_or_in_the_letters_with_the_reason(name: str, tmp_path: Path) -> None:
    kind, good, bad, said = KINDS[name]

    there, letters = written(partitioned(tmp_path, kind), rows(kind, [*good, *bad]))

    assert there == dict(enumerate(pa.array(good, kind).to_pylist()))
    assert set(letters) == set(range(len(good), len(good) + len(bad)))
    assert all(said in reason and "archive" in reason for reason in letters.values()), letters


def test_a_text_that_is_no_utf_8_is_in_the_letters_and_the_other_rows_in_the_table(tmp_path: Path) -> None:
    texts = pa.array([b"a", b"M\xfcller", None, b"M\xc3\xbcller"], pa.binary())
    column = pa.Array.from_buffers(pa.string(), len(texts), texts.buffers())  # Spark takes any bytes for a STRING
    some = rows(pa.string(), [None] * len(texts))
    there = pa.StructArray.from_arrays(
        [pa.array([0, 0, 1, 2, 3], pa.int64()), pa.concat_arrays([pa.nulls(1, pa.string()), column])], ["n", "p"]
    )
    table = some.table.set_column(3, "table_archive", there)

    found, letters = written(partitioned(tmp_path, pa.string()), EpochRows.of(0, table, ordered=True))

    assert found == {0: "a", 2: None, 3: "Müller"}
    assert list(letters) == [1]
    assert letters[1].startswith(
        "its p is a text that is no UTF-8, which the table's log cannot hold (the Delta table of archive"
    )


def test_an_empty_text_in_a_column_that_is_no_partition_stays(tmp_path: Path) -> None:
    DeltaTable.create(str(tmp_path), pa.schema([("n", pa.int64()), ("p", pa.string())]), partition_by=["n"])

    there, letters = written(TableSink("archive", "delta", str(tmp_path)), rows(pa.string(), ["", "a"]))

    assert there == {0: "", 1: "a"}
    assert not letters


def test_a_table_that_is_partitioned_by_bytes_is_refused_at_start(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"partitioned by the BINARY column p, whose values would be changed"):
        reach([partitioned(tmp_path, pa.binary())])


@pytest.mark.parametrize("epoch_is_there", [False, True])
def test_a_table_that_is_partitioned_otherwise_than_at_the_start_takes_no_epoch(
    tmp_path: Path, epoch_is_there: bool
) -> None:
    """Whoever writes the letters must know the same partitions as who wrote the table."""
    before = TableWriter("job", [TableSink("archive", "delta", str(tmp_path))], partitions=reach([]))
    sink = partitioned(tmp_path, pa.string())
    if epoch_is_there:
        TableWriter("job", [sink], partitions=reach([sink])).write(rows(pa.string(), ["a", ""]))

    with pytest.raises(TableError, match=r"is partitioned by \(p\), but was by \(\) .* Start the job again"):
        before.write(rows(pa.string(), ["a", ""]))
