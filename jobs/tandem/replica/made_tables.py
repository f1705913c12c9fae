"""Tables of sinks are made when a generation of the job begins, before anything of it is published, and never again.

One that is not there later was removed or renamed: made again in silence, it would have neither the rows nor the
partitions of the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from tandem.logs import get_logger
from tandem.protocol.values import Config, Marker
from tandem.replica import iceberg, postgres, table_access
from tandem.replica.earlier_runs import refuse_tables_of_earlier_runs
from tandem.replica.iceberg_catalog import IcebergTable
from tandem.replica.identity_parts import facts_format
from tandem.replica.old_names import of_the_job, warn_of_old_names
from tandem.replica.postgres import PostgresTable
from tandem.replica.tables import TableSink
from tandem.topics.declared import TABLE_PREFIX

_log = get_logger(__name__)

_FIRST_FORMAT = 6
"""Of the plan's facts (`identity_parts`), in generations whose tables were made when they began."""


@dataclass(frozen=True, slots=True)
class SinkTables:
    """The sinks of a job that are tables, by what keeps them."""

    files: Sequence[TableSink] = ()
    lake: Sequence[IcebergTable] = ()
    postgres: Sequence[PostgresTable] = ()

    def of_run(self, run: Callable[[], str]) -> SinkTables:
        """These, to be written in a run; `run`: see `run_of`, it is not asked if there are no tables."""
        if not (self.files or self.lake or self.postgres):
            return self
        mine = run()
        return SinkTables(
            [replace(table, run=mine) for table in self.files],
            [replace(table, run=mine) for table in self.lake],
            [replace(table, run=mine) for table in self.postgres],
        )


def prepare_tables(tables: SinkTables, job: str, last_published: Callable[[], int], run: Callable[[], str]) -> None:
    """Look at all tables once; make Tandem's own in PostgreSQL. Refuse those of earlier runs: see `earlier_run`.

    last_published : the last epoch whose marker is in the log, which without ordering is the replica's own.
    run : which this is, see `run_of`.

    Raises `TableError`, `TableUnreachableError`.
    """
    newest_of_postgres = postgres.prepare(tables.postgres)
    newest_of_lake = iceberg.newest_epochs(tables.lake)
    warn_of_old_names(job, tables.files)
    refuse_tables_of_earlier_runs(job, tables.files, last_published, run)
    postgres.refuse_earlier_runs(tables.postgres, newest_of_postgres, last_published, run)
    iceberg.refuse_earlier_runs(tables.lake, newest_of_lake, last_published, run)


def begins(config: Config, newest: Marker | None) -> bool:
    """Whether nothing of a generation is published yet, or it began with a Tandem that made tables with the first row. Pure.

    newest : the marker of the newest epoch. The first one of a moved lane says where it begins; see `Config.moved`.
    """
    if newest is None or newest.generation < config.generation or newest.epoch <= config.base:
        return True
    return facts_format(config) < _FIRST_FORMAT


def make_tables(tables: SinkTables, rows: StructType, is_new: Callable[[], bool]) -> None:
    """Make the tables that are not there, if the job's generation begins; PostgreSQL's are the user's, but for their row.

    rows : of all sinks, those of a table in a column of its own; see `one_stream`. is_new : see `begins`; it is asked
    before the tables are looked at, since who publishes first has made them before.

    Raises `TableError`: one is not there any more, or cannot be made; `TableUnreachableError`.
    """
    if not (tables.files or tables.lake or tables.postgres):
        return
    may_make = is_new()
    for sink in tables.files:
        if not may_make:
            table_access.check_there(of_the_job(sink))  # its own part of it, a replica of an older Tandem has not
        is_part = bool(sink.replica) and sink.kind == "parquet"
        if not (may_make or is_part):
            continue
        if table_access.make(sink, _schema(rows, sink.name)):
            _made(sink.name, sink.path)
    for table in tables.lake:
        if not may_make:
            iceberg.check_there(table)
        elif iceberg.make(table, _schema(rows, table.name)):
            _made(table.name, table.table)
    for there in tables.postgres:
        (postgres.make_row if may_make else postgres.check_row)(there)


def _schema(rows: StructType, sink: str) -> pa.Schema:
    return to_arrow_schema(cast(StructType, rows[TABLE_PREFIX + sink].dataType), timezone="UTC")


def _made(sink: str, table: str) -> None:
    _log.info("table_made", sink=sink, table=table)
