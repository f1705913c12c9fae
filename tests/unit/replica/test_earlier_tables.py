"""What is said of Parquet and Delta tables that an earlier run has written, and how they are looked at."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tandem.replica import earlier_runs, table_access
from tandem.replica.earlier_runs import refuse_tables_of_earlier_runs
from tandem.replica.rows import EpochRows
from tandem.replica.table_errors import TableError, TableUnreachableError
from tandem.replica.tables import TableSink, file_name
from unit.replica.making import MakingTableWriter


def sink(kind: str, folder: Path, run: str = "") -> TableSink:
    return TableSink("archive", kind, str(folder / "t"), run)


def write(table: TableSink, epoch: int) -> None:
    numbers = pa.array([{"n": epoch}], pa.struct([("n", pa.int64())]))
    columns = {"sink": ["archive"], "key": pa.nulls(1, pa.binary()), "value": pa.nulls(1, pa.binary())}
    rows = EpochRows.of(epoch, pa.table({**columns, "table_archive": numbers}), ordered=True)
    MakingTableWriter("job", [table]).write(rows)


def starts(table: TableSink, last: int) -> None:
    refuse_tables_of_earlier_runs("job", [table], lambda: last, lambda: "two")


@pytest.mark.parametrize(
    ("kind", "last", "remedy"),
    [
        ("parquet", -1, "or remove the old table"),
        ("delta", -1, "or remove the old table"),
        ("parquet", 4, f"Move the files after {file_name(4)} out of that folder.*or give the sink another path"),
        ("delta", 4, "Give the sink another path, and start the job with --accept-changes"),
    ],
)
def test_a_table_that_this_run_has_written_is_not_to_be_removed(
    kind: str, last: int, remedy: str, tmp_path: Path
) -> None:
    write(sink(kind, tmp_path), 9)
    with pytest.raises(TableError, match=remedy) as raised:
        starts(sink(kind, tmp_path), last)
    assert ("remove" in str(raised.value)) == (last < 0)


def test_files_that_are_moved_away_let_the_job_go_on(tmp_path: Path) -> None:
    table = sink("parquet", tmp_path)
    for epoch in (4, 9):
        write(table, epoch)
    (tmp_path / "t" / file_name(9)).rename(tmp_path / "away")
    starts(table, 4)
    assert pq.read_table(tmp_path / "t")["n"].to_pylist() == [4]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no table at all"])
def test_a_torn_or_foreign_newest_file_is_replaced_by_the_epoch_to_come(content: bytes, tmp_path: Path) -> None:
    write(sink("parquet", tmp_path), 4)
    (tmp_path / "t" / file_name(5)).write_bytes(content)
    starts(sink("parquet", tmp_path), 4)


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_a_table_that_does_not_answer_holds_no_start_up_for_ever(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hangs(*_: object) -> int:
        time.sleep(3)
        return -1

    monkeypatch.setattr(earlier_runs, f"_newest_{kind}", hangs)
    ask = table_access._ask
    monkeypatch.setattr(table_access, "_ask", lambda table, look, _timeout_s: ask(table, look, 0.1))
    with pytest.raises(TableUnreachableError, match="no answer"):
        starts(sink(kind, tmp_path), 4)
