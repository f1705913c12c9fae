"""Iceberg tables hold each epoch once, whoever writes it, how often, and at the same time; a real SQL catalog."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from integration.small_job import HEARTBEAT, SmallJob, when_whole
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local import LocalJob
from tandem.process.info import ExitCode
from tandem.protocol.values import Claim
from tandem.replica.iceberg import IcebergWriter, newest_epochs, refuse_earlier_runs
from tandem.replica.iceberg_catalog import IcebergTable
from tandem.replica.table_access import LaterGenerationError, TableUnreachableError
from tandem.replica.table_errors import TableAheadError
from tandem.replica.tables import TableError
from unit.replica.making import MakingIcebergWriter

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]


def properties(folder: Path) -> dict[str, str]:
    """Of a catalog in SQLite, and a warehouse beside it."""
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}


@pytest.fixture
def table(tmp_path: Path) -> IcebergTable:
    return IcebergTable("lake", "shop.orders", properties(tmp_path), "job")


def numbers(*values: int) -> pa.StructArray:
    return pa.array([{"n": value} for value in values], pa.struct([("n", pa.int64())]))


def write(writer: IcebergWriter, epoch: int, *values: int) -> dict[int, str]:
    return dict(writer.write(epoch, numbers(*values), range(len(values))))


def content(table: IcebergTable, column: str = "n") -> list[Any]:
    catalog = table.catalog()
    if not catalog.table_exists(table.table):
        return []
    return sorted(catalog.load_table(table.table).scan().to_arrow()[column].to_pylist())


# Once ----------------------------------------------------------------------------------------------------------------


def test_an_epoch_is_appended_once_and_its_snapshot_carries_it(table: IcebergTable) -> None:
    one, other = MakingIcebergWriter(table, 3), MakingIcebergWriter(table, 3)
    for epoch in (0, 1, 2):
        write(one, epoch, epoch, 10 + epoch)
        write(other, epoch, epoch, 10 + epoch)
    with pytest.raises(TableAheadError, match=r"has epochs up to 2, and epoch 0 is to be written"):
        write(one, 0, 0, 10)

    assert content(table) == [0, 1, 2, 10, 11, 12]
    snapshots = table.catalog().load_table(table.table).snapshots()
    carried = [dict(snapshot.summary.additional_properties) for snapshot in snapshots]
    assert [one["tandem.epoch"] for one in carried] == ["0", "1", "2"]
    assert {(one["tandem.job"], one["tandem.sink"], one["tandem.generation"]) for one in carried} == {
        ("job", "lake", "3")
    }


def test_of_two_owners_that_have_both_looked_one_commits(table: IcebergTable) -> None:
    write(MakingIcebergWriter(table, 0), 0, 0)
    late: list[IcebergWriter] = []

    def overtaken(step: str) -> None:
        if step.startswith("the end of the commit") and not late:
            late.append(MakingIcebergWriter(table, 0))
            write(late[0], 1, 1)

    write(MakingIcebergWriter(table, 0, overtaken), 1, 1)

    assert late
    assert content(table) == [0, 1]


def test_owners_at_the_same_time_write_every_epoch_once(table: IcebergTable) -> None:
    writers = [MakingIcebergWriter(table, 0) for _ in range(3)]
    for epoch in range(4):
        together = threading.Barrier(len(writers))

        def run(writer: IcebergWriter, epoch: int = epoch, together: threading.Barrier = together) -> None:
            together.wait(10)
            while True:
                try:
                    write(writer, epoch, epoch)
                except TableUnreachableError:
                    continue  # SQLite is locked
                return

        threads = [threading.Thread(target=run, args=(writer,)) for writer in writers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)

    assert content(table) == [0, 1, 2, 3]


def test_rows_of_another_writer_stay_and_a_conflict_is_tried_again(table: IcebergTable) -> None:
    write(MakingIcebergWriter(table, 0), 0, 0)
    done: list[int] = []

    def disturbed(step: str) -> None:
        if step.startswith("the end of the commit") and len(done) < 2:
            done.append(1)
            table.catalog().load_table(table.table).append(pa.table({"n": pa.array([100], pa.int64())}))

    write(MakingIcebergWriter(table, 0, disturbed), 1, 1)

    assert content(table) == [0, 1, 100, 100]


def test_conflicts_have_an_end_and_the_epoch_is_written_later(table: IcebergTable) -> None:
    write(MakingIcebergWriter(table, 0), 0, 0)

    def disturbed(step: str) -> None:
        if step.startswith("the end of the commit"):
            table.catalog().load_table(table.table).append(pa.table({"n": pa.array([100], pa.int64())}))

    with pytest.raises(TableUnreachableError, match=r"CommitFailedException.*It is tried again"):
        write(MakingIcebergWriter(table, 0, disturbed), 1, 1)
    write(MakingIcebergWriter(table, 0), 1, 1)

    assert content(table) == [0, 1, *([100] * 5)]


def test_the_epoch_is_known_when_its_snapshot_has_expired(table: IcebergTable) -> None:
    write(MakingIcebergWriter(table, 0), 0, 0)
    there = table.catalog().load_table(table.table)
    there.append(pa.table({"n": pa.array([100], pa.int64())}))
    there.maintenance.expire_snapshots().by_id(there.snapshots()[0].snapshot_id).commit()

    write(MakingIcebergWriter(table, 0), 0, 0)

    assert content(table) == [0, 100]


def test_a_deposed_owner_of_an_earlier_generation_writes_nothing(table: IcebergTable) -> None:
    write(MakingIcebergWriter(table, 1), 0, 0)

    with pytest.raises(LaterGenerationError, match="generation 1 writes the iceberg table"):
        write(MakingIcebergWriter(table, 0), 1, 1)
    assert content(table) == [0]


# Values --------------------------------------------------------------------------------------------------------------

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "small number": (pa.int8(), [-1]),
    "decimal": (pa.decimal128(38, 18), [Decimal("1.000000000000000001")]),
    "moment": (
        pa.timestamp("us", tz="Europe/Berlin"),
        [datetime(1, 1, 2, tzinfo=UTC), datetime(2024, 5, 1, tzinfo=UTC)],
    ),
    "day": (pa.date32(), [date(1, 1, 1), date(9999, 12, 31)]),
    "struct": (pa.struct([("a", pa.list_(pa.string()))]), [{"a": ["x", None]}, None]),
    "map": (pa.map_(pa.string(), pa.int32()), [[("k", 1)]]),
    "bytes": (pa.binary(), [b"\x00\xff"]),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back_as_it_was(table: IcebergTable, name: str) -> None:
    kind, values = VALUES[name]
    rows = pa.array([{"v": value} for value in values], pa.struct([("v", kind)]))

    assert MakingIcebergWriter(table, 0).write(0, rows, range(len(values))) == {}

    assert table.catalog().load_table(table.table).scan().to_arrow()["v"].to_pylist() == values


def test_rows_that_no_table_can_hold_are_named_and_the_others_are_written(table: IcebergTable) -> None:
    kind = pa.struct([("t", pa.binary()), ("d", pa.int32())])
    plain = pa.array([{"t": b"a", "d": 1}, {"t": b"\xff", "d": 1}, {"t": b"b", "d": 2_932_897}], kind)
    text = pa.StringArray.from_buffers(3, *plain.field("t").buffers()[1:])
    rows = pa.StructArray.from_arrays([text, plain.field("d").cast(pa.date32())], ["t", "d"])

    refused = MakingIcebergWriter(table, 0).write(0, rows, [3, 5, 7])

    assert {index: why.split(",")[0] for index, why in refused.items()} == {
        5: "it has a text that is no UTF-8",
        7: "it has a DATE outside of the years 1 to 9999",
    }
    assert content(table, "t") == ["a"]


def test_rows_that_do_not_fit_the_table_are_refused(table: IcebergTable) -> None:
    catalog = table.catalog()
    catalog.create_namespace("shop")
    catalog.create_table("shop.orders", pa.schema([("n", pa.string())]))

    with pytest.raises(TableError, match=r"sink lake: the iceberg table shop\.orders of sink lake cannot be written: "):
        write(MakingIcebergWriter(table, 0), 0, 1)


def test_a_table_of_an_earlier_run_is_refused(table: IcebergTable) -> None:
    for epoch in range(3):
        write(MakingIcebergWriter(table, 0), epoch, epoch)
    newest = newest_epochs([table])

    refuse_earlier_runs([table], newest, lambda: 1, lambda: "")
    with pytest.raises(TableError, match=r"epochs up to 2 of an earlier run, and epoch 0 is the last one that"):
        refuse_earlier_runs([table], newest, lambda: 0, lambda: "")
    with pytest.raises(TableError, match=r"has epochs up to 2 of an earlier run.*tandem\.epoch\.job\.lake"):
        refuse_earlier_runs([table], newest, lambda: -1, lambda: "")


def test_a_catalog_that_does_not_answer_may_come_back_and_one_of_no_kind_is_refused() -> None:
    away = IcebergTable("lake", "a.b", {"type": "rest", "uri": "http://127.0.0.1:1"}, "job")
    with pytest.raises(TableUnreachableError, match="It is tried again"):
        newest_epochs([away])
    with pytest.raises(TableError, match="cannot be written: ValueError"):
        newest_epochs([IcebergTable("lake", "a.b", {"type": "rset"}, "job")])


# A running job -------------------------------------------------------------------------------------------------------

JOB = """
from pyspark.sql import functions as F

def job(events):
    text = F.col("value").cast("string")
    return {"copies": events.select(text.alias("value")), "lake": events.select(text.alias("n"))}
"""

MakeJob = Callable[..., SmallJob]


@pytest.fixture
def job(kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path: Path) -> Iterator[SmallJob]:
    name = f"lake-{uuid.uuid4().hex[:6]}"
    sinks = [
        {"name": "copies", "topic": f"{name}-copies"},
        {"name": "lake", "iceberg": {"table": "shop.orders", "properties": properties(tmp_path)}},
    ]
    made = SmallJob(tmp_path, Cluster(kafka, zookeeper), name, JOB, replicas=2, sinks=sinks, ordering=HEARTBEAT)
    made.local.start()
    yield made
    made.local.stop()


@pytest.mark.thorough
def test_after_a_kill_of_the_owner_the_table_holds_each_row_once(job: SmallJob) -> None:
    table = IcebergTable("lake", "shop.orders", properties(job.folder), job.name)
    job.feed("a", "b")
    job.wait_for("a", "b")
    when_whole(job)
    with job.withheld(job.commits):
        job.feed("c")
        job.wait(lambda: "c" in content(table), "the epoch in the table")
        owner = [one for one in job.proposals() if isinstance(one, Claim)][-1].owner.split(".")[1]
        assert "c" not in job.values()
        job.local.kill(owner)
    job.feed("d")
    job.wait_for("c", "d")

    assert content(table) == ["a", "b", "c", "d"] == sorted(job.values())
    assert [json.loads(value) for value in job.values(job.dead_letter)] == []


@pytest.mark.thorough
def test_a_table_that_is_renamed_while_the_job_runs_stops_it_until_it_is_back(job: SmallJob) -> None:
    table = IcebergTable("lake", "shop.orders", properties(job.folder), job.name)
    assert content(table) == [], "made at the start"
    job.feed("a")
    job.wait_for("a")
    catalog = table.catalog()
    catalog.rename_table("shop.orders", "shop.old")

    job.feed("b")
    for _ in ("who runs", "who starts"):
        outcome = job.end()
        assert outcome.code == ExitCode.REFUSED
        assert "there is no iceberg table shop.orders. It was removed or renamed" in outcome.reason
        assert not catalog.table_exists("shop.orders")
        job.local = LocalJob(job.local.manifest, job.folder / "run").start()
    assert job.end().code == ExitCode.REFUSED
    catalog.rename_table("shop.old", "shop.orders")
    job.local = LocalJob(job.local.manifest, job.folder / "run").start()

    job.wait_for("b")
    assert content(table) == ["a", "b"]
