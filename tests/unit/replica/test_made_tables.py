"""A table that is not there is made when a generation begins, and never again: what was removed or renamed is said."""

from __future__ import annotations

import shutil
import uuid
from dataclasses import replace
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql.types import LongType, StructField, StructType, TimestampType

from tandem.protocol.values import Config, Marker, Offsets
from tandem.replica.iceberg import IcebergWriter, newest_epochs, refuse_earlier_runs
from tandem.replica.iceberg_catalog import IcebergTable
from tandem.replica.identity_parts import identity_of
from tandem.replica.made_tables import SinkTables, begins, make_tables
from tandem.replica.rows import EpochRows
from tandem.replica.tables import TableError, TableSink, TableWriter, check_there
from tandem.topics.declared import TABLE_PREFIX

FILES = ["parquet", "delta"]
ROWS = StructType([StructField("n", LongType(), nullable=False), StructField("at", TimestampType())])
SINKS = StructType([StructField(TABLE_PREFIX + "archive", ROWS), StructField(TABLE_PREFIX + "lake", ROWS)])
COLUMNS = pa.struct([("n", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
DIGEST = identity_of({"plan: format": "6"})
GENERATION = Config(3, DIGEST, Offsets({}), "x.replica-0.aa", base=40)
NEWEST = Marker(50, 0, "x.replica-0.aa", "digest", 1, 7, generation=2)


@pytest.fixture
def table(tmp_path: Path) -> IcebergTable:
    options = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/warehouse"}
    return IcebergTable("lake", "shop.orders", options, "job")


def rows(epoch: int) -> EpochRows:
    nothing = pa.array([None], pa.binary())
    there = pa.array([{"n": epoch, "at": epoch}], COLUMNS)
    return EpochRows.of(
        epoch,
        pa.table({"sink": ["archive"], "key": nothing, "value": nothing, TABLE_PREFIX + "archive": there}),
        ordered=True,
    )


def append(writer: IcebergWriter, epoch: int) -> None:
    assert writer.write(epoch, pa.array([{"n": epoch, "at": epoch}], COLUMNS), [0]) == {}


def test_a_generation_begins_until_one_of_its_epochs_is_published() -> None:
    assert begins(GENERATION, None)
    assert begins(GENERATION, NEWEST)
    assert not begins(GENERATION, replace(NEWEST, generation=3))


def test_epoch_0_of_an_iceberg_table_is_this_runs_only_if_the_table_says_so_or_nothing(table: IcebergTable) -> None:
    one, two = (replace(table, run=run) for run in ("one", "two"))
    make_tables(SinkTables(lake=[table]), SINKS, lambda: True)

    append(IcebergWriter(table, 0), 0)
    refuse_earlier_runs([two], newest_epochs([two]), lambda: -1, lambda: "two")

    append(IcebergWriter(one, 0), 1)
    refuse_earlier_runs([one], newest_epochs([one]), lambda: 0, lambda: "one")
    with pytest.raises(TableError, match="has epochs up to 1 of an earlier run, and epoch 0 is the last one that"):
        refuse_earlier_runs([two], newest_epochs([two]), lambda: 0, lambda: "two")


def test_a_table_of_a_generation_that_an_earlier_tandem_began_is_made_with_the_next_one_that_starts() -> None:
    published = replace(NEWEST, generation=3)
    assert begins(replace(GENERATION, digest=identity_of({"plan: format": "5"})), published)
    assert begins(replace(GENERATION, digest="of no parts"), published)
    assert not begins(GENERATION, published)


def test_a_folder_is_not_gone_where_its_file_system_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = TableSink("archive", "parquet", str(tmp_path))

    def away(*_: object, **__: object) -> None:
        raise OSError(116, "Stale file handle")

    monkeypatch.setattr(type(fsspec.filesystem("file")), "info", away)
    with pytest.raises(OSError, match="Stale file handle"):
        check_there(sink)


def test_a_lane_that_was_moved_begins_behind_the_marker_of_its_beginning() -> None:
    moved = replace(GENERATION, moved=True)

    assert begins(moved, replace(NEWEST, generation=3, epoch=40))
    assert not begins(moved, replace(NEWEST, generation=3, epoch=41))


@pytest.mark.parametrize("kind", FILES)
def test_files_are_made_once_and_what_was_removed_is_refused_by_who_runs_and_who_starts(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "to" / "be"
    tables = SinkTables([TableSink("archive", kind, str(path))])
    make_tables(tables, SINKS, lambda: True)
    running = TableWriter("job", tables.files)
    running.write(rows(0))
    make_tables(tables, SINKS, lambda: True)
    make_tables(tables, SINKS, lambda: False)
    shutil.rmtree(path)

    words = rf"sink archive: there is no .*{path}.* Put it back, or create one as it shall be; then start the job again"
    with pytest.raises(TableError, match=words):
        running.write(rows(1))
    with pytest.raises(TableError, match=words):
        make_tables(tables, SINKS, lambda: False)
    assert not path.exists()


def test_a_delta_table_is_made_with_the_columns_of_the_job(tmp_path: Path) -> None:
    make_tables(SinkTables([TableSink("archive", "delta", str(tmp_path))]), SINKS, lambda: True)

    assert [(field.name, field.type.type, field.nullable) for field in DeltaTable(str(tmp_path)).schema().fields] == [
        ("n", "long", True),
        ("at", "timestamp", True),
    ]


def test_a_folder_in_an_object_store_is_there_while_it_has_files_and_may_be_emptied() -> None:
    path = f"memory://{uuid.uuid4().hex}/archive"
    tables = SinkTables([TableSink("archive", "parquet", path)])
    make_tables(tables, SINKS, lambda: False)
    running = TableWriter("job", tables.files)
    running.write(rows(0))
    files, root = fsspec.core.url_to_fs(path)
    files.rm(root, recursive=True)

    running.write(rows(1))

    with files.open(f"{root}/epoch-000000000001.parquet") as file:
        assert pq.read_table(file)["n"].to_pylist() == [1]


@pytest.mark.parametrize("how", ["dropped", "renamed"])
def test_an_iceberg_table_is_made_once_and_not_again(table: IcebergTable, how: str) -> None:
    tables = SinkTables(lake=[table])
    make_tables(tables, SINKS, lambda: True)
    running, idle = IcebergWriter(table, 0), IcebergWriter(table, 0)
    append(running, 0)
    make_tables(tables, SINKS, lambda: True)
    make_tables(tables, SINKS, lambda: False)
    catalog = table.catalog()
    catalog.drop_table(table.table) if how == "dropped" else catalog.rename_table(table.table, "shop.old")

    words = r"sink lake: there is no iceberg table shop\.orders\. It was removed or renamed"
    for writer in (running, idle):
        with pytest.raises(TableError, match=words):
            append(writer, 1)
    with pytest.raises(TableError, match=words):
        make_tables(tables, SINKS, lambda: False)
    assert not catalog.table_exists(table.table)


def test_who_publishes_first_has_made_the_tables_before(table: IcebergTable) -> None:
    """A replica that asks, and then looks, finds what another has made meanwhile."""
    tables = SinkTables(lake=[table])

    def meanwhile() -> bool:
        make_tables(tables, SINKS, lambda: True)
        append(IcebergWriter(table, 0), 0)
        return True

    make_tables(tables, SINKS, meanwhile)

    assert table.catalog().load_table(table.table).scan().to_arrow()["n"].to_pylist() == [0]


def test_a_job_without_tables_asks_nothing() -> None:
    make_tables(SinkTables(), SINKS, lambda: pytest.fail("asked"))
