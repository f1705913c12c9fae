"""Tables hold each epoch once, whoever writes it, how often, and at the same time."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from tandem.kafka.headers import RowId, row_id
from tandem.replica.earlier_runs import refuse_tables_of_earlier_runs
from tandem.replica.records import records_of
from tandem.replica.rows import EpochRows
from tandem.replica.table_errors import TableAheadError
from tandem.replica.tables import TableError, TableSink, TableWriter
from tandem.topics.declared import SinkTopics
from unit.replica.making import MakingTableWriter

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
    return MakingTableWriter("job", [TableSink("archive", kind, str(folder))])


def content(kind: str, folder: Path) -> list[int]:
    table = DeltaTable(str(folder)).to_pyarrow_table() if kind == "delta" else pq.read_table(folder)
    return sorted(table["n"].to_pylist())


def dates(kind: pa.DataType, values: Sequence[object]) -> EpochRows:
    """A row of the table for each value, after one of a Kafka sink."""
    days = pa.array([None, *values], pa.struct([("n", kind)]))
    count = len(values) + 1
    columns = {"sink": ["out", *(["archive"] * len(values))], "key": [None] * count, "value": [b""] * count}
    types = {"sink": pa.string(), "key": pa.binary(), "value": pa.binary()}
    table = {name: pa.array(column, types[name]) for name, column in columns.items()}
    return EpochRows.of(0, pa.table({**table, "table_archive": days}), ordered=True)


DAY = pa.date32()
BEYOND = [2**31 - 1, -(2**31), 95_026_237, 2_932_897, -719_163]
NESTED: dict[str, tuple[pa.DataType, Callable[[int | None], object]]] = {
    "plain": (DAY, lambda day: day),
    "struct": (pa.struct([("d", DAY)]), lambda day: {"d": day}),
    "list": (pa.list_(DAY), lambda day: [0, day]),
    "map": (pa.map_(pa.string(), DAY), lambda day: [("k", day)]),
    "key of a map": (pa.map_(DAY, pa.string()), lambda day: [(day or 0, "v")]),
    "list of structs": (
        pa.list_(pa.struct([("m", pa.map_(pa.string(), DAY))])),
        lambda day: [None, {"m": [("k", day)]}],
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_a_date_that_delta_cannot_hold_is_a_dead_letter_and_the_other_rows_are_in_the_table(
    name: str, tmp_path: Path
) -> None:
    kind, nested = NESTED[name]
    good = [0, -719_162, 2_932_896, None]
    some = dates(kind, [{"n": nested(day)} for day in [*good, *BEYOND]])
    sinks = SinkTopics({"out": "out"}, {"out": 1, "letters": 1}, "letters", 1_000_000, deltas={"archive": ()})

    writer("delta", tmp_path).write(some)
    records = [record for record in records_of(some, sinks) if record.topic == "letters"]
    letters = [json.loads(record.value or b"") for record in records]

    assert DeltaTable(str(tmp_path)).to_pyarrow_table().num_rows == len(good)
    assert [letter["index"] for letter in letters] == [len(good) + 1 + place for place in range(len(BEYOND))]
    assert [row_id(record.headers) for record in records] == [RowId(0, letter["index"]) for letter in letters]
    assert letters[0]["sink"] == "archive"
    assert "DATE outside of the years 1 to 9999" in letters[0]["reason"]


def test_an_epoch_of_dates_that_delta_cannot_hold_leaves_the_table_alone(tmp_path: Path) -> None:
    TableWriter("job", [TableSink("archive", "delta", str(tmp_path))]).write(dates(DAY, [{"n": day} for day in BEYOND]))
    assert not any(tmp_path.iterdir())


def test_parquet_holds_any_date(tmp_path: Path) -> None:
    writer("parquet", tmp_path).write(dates(DAY, [{"n": day} for day in BEYOND]))
    assert pq.read_table(tmp_path)["n"].cast(pa.int32()).to_pylist() == BEYOND


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
    if kind == "delta":
        with pytest.raises(TableAheadError, match=r"has epochs up to 2, and epoch 0 is to be written"):
            second.write(rows(0))
    else:
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
    writing = TableWriter("job", [TableSink("archive", kind, str(tmp_path / "t"))])
    writing.write(rows(0, count=0))
    writing.write(EpochRows.of(1, pa.table({}), ordered=True))

    assert not (tmp_path / "t").exists()


def test_two_table_sinks_of_a_job_do_not_pass_for_each_other(tmp_path: Path) -> None:
    sinks = [TableSink(name, "delta", str(tmp_path / "shared")) for name in ("archive", "late")]
    both = MakingTableWriter("job", sinks)
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
    refuse_tables_of_earlier_runs(job, [TableSink("archive", kind, str(folder))], published, lambda: "")


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
def test_a_table_that_is_ahead_of_what_this_run_has_published_is_refused(kind: str, tmp_path: Path) -> None:
    written(kind, tmp_path / "t", 0, 50)

    begin(kind, tmp_path / "t", published=lambda: 49)
    with pytest.raises(TableError, match=r"has epochs up to 50 of an earlier run, and epoch 10 is the last one that"):
        begin(kind, tmp_path / "t", published=lambda: 10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("last", [-1, 6])
def test_the_epoch_to_come_is_this_runs_only_if_this_run_has_written_it(kind: str, last: int, tmp_path: Path) -> None:
    def sink(run: str) -> TableSink:
        return TableSink("archive", kind, str(tmp_path / "t"), run)

    def starts(run: str) -> None:
        refuse_tables_of_earlier_runs("job", [sink("")], lambda: last, lambda: run)

    MakingTableWriter("job", [sink("one")]).write(rows(last + 1))

    starts("one")
    starts("")  # its brokers give topics no ids
    with pytest.raises(TableError, match=rf"has epochs up to {last + 1} of an earlier run"):
        starts("two")


@pytest.mark.parametrize("kind", KINDS)
def test_an_epoch_of_a_tandem_that_kept_no_runs_is_taken_for_this_runs(kind: str, tmp_path: Path) -> None:
    MakingTableWriter("job", [TableSink("archive", kind, str(tmp_path / "t"), "one")]).write(rows(0))
    written(kind, tmp_path / "t", 1)

    refuse_tables_of_earlier_runs("job", [TableSink("archive", kind, str(tmp_path / "t"))], lambda: 0, lambda: "two")


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


def test_a_parquet_file_is_on_the_disk_before_it_has_its_name_and_the_name_before_the_epoch_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[int, list[str]]] = []
    monkeypatch.setattr(
        os, "fsync", lambda fd: synced.append((os.fstat(fd).st_ino, [path.name for path in tmp_path.iterdir()]))
    )
    writer("parquet", tmp_path).write(rows(3))
    (file,) = tmp_path.iterdir()

    (first, (temporary,)), (second, names) = synced
    assert (first, second) == (file.stat().st_ino, tmp_path.stat().st_ino)
    assert temporary.startswith(".")
    assert names == [file.name]
