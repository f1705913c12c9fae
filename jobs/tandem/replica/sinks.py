"""All sinks of a job that are no Kafka topics, as an epoch's owner writes them: before the epoch's transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tandem.engine.foreach_batch import BatchFunctions, TryAgainError
from tandem.manifest.models import Spec
from tandem.replica.iceberg import IcebergWriter
from tandem.replica.iceberg_catalog import IcebergTable
from tandem.replica.postgres import PostgresTable
from tandem.replica.postgres_writer import PostgresWriter
from tandem.replica.rows import EpochRows
from tandem.replica.table_errors import LaterGenerationError, TableAheadError, TableError, TableUnreachableError
from tandem.replica.tables import TableWriter
from tandem.topics.declared import TABLE_PREFIX
from tandem.waits import Task

UNTAKEN: Final = (TableUnreachableError, LaterGenerationError)
"""What a table raises, of those that take an epoch once: nothing behind it in the epoch has begun."""

TRY_AGAIN: Final = (*UNTAKEN, TryAgainError)
"""What a sink raises that may take the epoch later, or that somebody else has given it to."""

_PATIENCE_WITH_FUNCTIONS_MS: Final = 60_000


class SinkWriters:
    """Writes an epoch's rows to every sink beside Kafka.

    files : writes Parquet and Delta tables. tables : sink → what writes its table, in Iceberg or PostgreSQL.
    functions : of sinks `foreachBatch`.
    task : says what the epoch waits for in its sinks, until it is written, or published by somebody else.
    """

    def __init__(
        self,
        files: TableWriter,
        tables: Mapping[str, IcebergWriter | PostgresWriter],
        functions: BatchFunctions,
        task: Task,
    ) -> None:
        self._files, self._tables, self._functions, self._task = files, tables, functions, task
        self._ahead = -1

    def write(self, rows: EpochRows) -> Mapping[int, str]:
        """Write an epoch's rows; again, if they were written before. Returns those that a sink refused: index → why.

        Raises `TableError`, `JobError`, and `TRY_AGAIN`.
        """
        self._task.begins(f"the tables of epoch {rows.epoch}")
        try:
            refused = self._write(rows)
        except TRY_AGAIN as error:
            self._task.at(str(error))
            if isinstance(error, TableAheadError):
                self._refuse_again(rows.epoch, error)
            raise
        self._task.ends()
        return refused

    def _refuse_again(self, epoch: int, error: TableAheadError) -> None:
        """Raise `TableError` the second time: the log was read to its end meanwhile, and nobody has published it."""
        if self._ahead == epoch:
            raise TableError(
                f"{error}. Nobody has published epoch {epoch}: its rows, and those up to there, would be lost. Another run "
                "of this job has written the table, or writes it. Stop that one; start this job again: it says how to go on"
            ) from error
        self._ahead = epoch

    def _write(self, rows: EpochRows) -> Mapping[int, str]:
        self._files.write(rows)
        refused: dict[int, str] = {}
        for name, writer in self._tables.items():
            mine, indexes = rows_of(rows, name)
            if indexes:
                refused |= writer.write(rows.epoch, mine, indexes)
        for name in self._functions.sinks:
            mine, _ = rows_of(rows, name)
            self._task.at(f"the function of sink {name}, which is called with {len(mine):,} rows")
            self._functions.call(name, rows.epoch, mine)
        return refused


def writers_of(
    iceberg: Sequence[IcebergTable], postgres: Sequence[PostgresTable], generation: int, at: Callable[[str], None]
) -> dict[str, IcebergWriter | PostgresWriter]:
    """What writes the epochs of a generation to tables with a catalog or a database, by sink."""
    return {
        **{table.name: IcebergWriter(table, generation, at) for table in iceberg},
        **{table.name: PostgresWriter(table, generation, at) for table in postgres},
    }


def rows_of(rows: EpochRows, sink: str) -> tuple[pa.StructArray, Sequence[int]]:
    """The rows of a sink that is no topic, and their indexes in the epoch."""
    column = TABLE_PREFIX + sink
    if column not in rows.table.column_names:
        return pa.array([], pa.struct([])), ()
    chosen = pc.equal(rows.table["sink"], sink)
    indexes: list[int] = pc.indices_nonzero(chosen).to_pylist()
    mine = rows.table.filter(chosen)[column].combine_chunks()
    return (mine.combine_chunks() if isinstance(mine, pa.ChunkedArray) else mine), indexes


def longest_silence_ms(spec: Spec) -> int:
    """How long an owner may be silent, if the job's epochs take so long: functions of the user may be slow, ms.

    A successor calls them again, so without failures nobody should.
    """
    is_given = "max_bound" in spec.take_over.model_fields_set
    calls = any(sink.foreach_batch is not None for sink in spec.sinks)
    return _PATIENCE_WITH_FUNCTIONS_MS if calls and not is_given else spec.take_over.max_bound.ms
