"""Tables hold each epoch once, whoever writes it, how often, and at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from tandem.replica.rows import EpochRows
from tandem.replica.tables import TableError, TableSink, TableWriter, refuse_tables_of_earlier_runs

KINDS = ["parquet", "delta"]


def rows(epoch: int, count: int = 2, sink: str = "archive") -> EpochRows:
    """`count` rows of a table, 10 × epoch and following, after one of a Kafka sink."""
    numbers: list[dict[str, int] | None] = [None, *({"n": 10 * epoch + i} for i in range(count))]
    table = pa.table(
        {
            "sink": ["out", *([sink] * count)],
            "key": pa.nulls(count + 1, pa.binary()),
            "value": pa.nulls(count + 1, pa.binary()),
            f"table_{sink}": pa.array(numbers, pa.struct([("n", pa.int64())])),
        }
    )
    return EpochRows.of(epoch, table, ordered=True)


def writer(kind: str, folder: Path) -> TableWriter:
    return TableWriter("job", [TableSink("archive", kind, str(folder))])


def content(kind: str, folder: Path) -> list[int]:
    table = DeltaTable(str(folder)).to_pyarrow_table() if kind == "delta" else pq.read_table(folder)
    return sorted(table["n"].to_pylist())


def together(*work: Sequence[EpochRows], kind: str, folder: Path) -> None:
    """Several replicas write at the same time; each begins an epoch when all do."""
    barrier = threading.Barrier(len(work))
    failures: list[BaseException] = []

    def write(epochs: Sequence[EpochRows]) -> None:
        mine = writer(kind, folder)
        try:
            for epoch in epochs:
                barrier.wait(30)
                mine.write(epoch)
        except BaseException as error:
            barrier.abort()
            failures.append(error)

    threads = [threading.Thread(target=write, args=(epochs,)) for epochs in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures, failures


@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_that_is_written_again_is_there_once(kind: str, tmp_path: Path) -> None:
    first, second = writer(kind, tmp_path / "t"), writer(kind, tmp_path / "t")
    for epoch in (0, 1):
        first.write(rows(epoch))

    for epoch in (1, 2):
        second.write(rows(epoch))
    second.write(rows(0))

    assert content(kind, tmp_path / "t") == [0, 1, 10, 11, 20, 21]


@pytest.mark.parametrize("kind", KINDS)
def test_several_writers_at_the_same_time_write_each_epoch_once(kind: str, tmp_path: Path) -> None:
    epochs = [rows(epoch) for epoch in range(6)]

    for table in range(3):
        together(epochs, epochs, epochs, kind=kind, folder=tmp_path / str(table))

        assert content(kind, tmp_path / str(table)) == [10 * epoch + i for epoch in range(6) for i in (0, 1)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_without_rows_of_a_table_writes_nothing(kind: str, tmp_path: Path) -> None:
    writing = writer(kind, tmp_path / "t")
    writing.write(rows(0, count=0))
    writing.write(EpochRows.of(1, pa.table({}), ordered=True))

    assert not (tmp_path / "t").exists()


def test_two_table_sinks_of_a_job_do_not_pass_for_each_other(tmp_path: Path) -> None:
    sinks = [TableSink(name, "delta", str(tmp_path / "shared")) for name in ("archive", "late")]
    both = TableWriter("job", sinks)
    both.write(rows(0))

    both.write(rows(0, sink="late"))

    assert content("delta", tmp_path / "shared") == [0, 0, 1, 1]


def test_a_half_written_parquet_file_is_not_read(tmp_path: Path) -> None:
    writer("parquet", tmp_path / "t").write(rows(0))
    (tmp_path / "t" / ".000000000001-left-over").write_bytes(b"PAR1 torn")

    assert content("parquet", tmp_path / "t") == [0, 1]


def test_rows_that_do_not_fit_a_delta_table_are_refused_in_words(tmp_path: Path) -> None:
    write_deltalake(str(tmp_path / "t"), pa.table({"name": ["x"]}))

    with pytest.raises(TableError, match=r"sink archive: the rows do not fit the Delta table .*/t"):
        writer("delta", tmp_path / "t").write(rows(0))


def begin(kind: str, folder: Path, job: str = "job", published: Callable[[], int] = lambda: -1) -> None:
    """What a replica does before it begins."""
    refuse_tables_of_earlier_runs(job, [TableSink("archive", kind, str(folder))], published)


def written(kind: str, folder: Path, *epochs: int) -> None:
    for epoch in epochs:
        writer(kind, folder).write(rows(epoch))


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_begins_anew_with_the_table_of_an_earlier_run_is_refused(kind: str, tmp_path: Path) -> None:
    written(kind, tmp_path / "t", 0, 1, 2)

    with pytest.raises(
        TableError, match=r"sink archive: the \w+ table .*/t has epochs up to 2 .* another path, or remove"
    ):
        begin(kind, tmp_path / "t")


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_may_begin_with_a_table_that_has_nothing_of_it(kind: str, tmp_path: Path) -> None:
    begin(kind, tmp_path / "t")
    (tmp_path / "t").mkdir()
    begin(kind, tmp_path / "t")
    (tmp_path / "t" / "epochs.txt").write_text("not a table's file")
    begin(kind, tmp_path / "t")


@pytest.mark.parametrize("kind", KINDS)
def test_who_ended_before_the_first_epoch_was_published_begins_again(kind: str, tmp_path: Path) -> None:
    written(kind, tmp_path / "t", 0)

    begin(kind, tmp_path / "t")


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_that_has_published_goes_on_with_its_table(kind: str, tmp_path: Path) -> None:
    written(kind, tmp_path / "t", 0, 1, 2)

    begin(kind, tmp_path / "t", published=lambda: 1)


@pytest.mark.parametrize("kind", KINDS)
def test_what_another_replica_writes_and_publishes_meanwhile_is_no_earlier_run(kind: str, tmp_path: Path) -> None:
    published = -1

    def ask() -> int:
        """Nothing is published when it is asked first; then another replica does its work."""
        nonlocal published
        before, published = published, 1
        if before < 0:
            written(kind, tmp_path / "t", 0, 1, 2)
        return before

    begin(kind, tmp_path / "t", published=ask)


def test_a_delta_table_of_another_job_is_no_earlier_run(tmp_path: Path) -> None:
    written("delta", tmp_path / "t", 0, 1, 2)

    begin("delta", tmp_path / "t", job="other")
