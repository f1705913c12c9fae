"""All sinks of a job that are no Kafka topics, as an epoch's owner writes them: before the epoch's transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from tandem.replica.postgres_writer import LaterGenerationError, PostgresWriter
from tandem.replica.rows import EpochRows
from tandem.replica.table_access import TableUnreachableError
from tandem.replica.tables import TableWriter
from tandem.topics.declared import TABLE_PREFIX
from tandem.waits import Task


class SinkWriters:
    """Writes an epoch's rows to every sink beside Kafka.

    files : writes Parquet and Delta tables. postgres : sink → what writes its table.
    task : says what the epoch waits for in its sinks, until it is written, or published by somebody else.
    """

    def __init__(self, files: TableWriter, postgres: Mapping[str, PostgresWriter], task: Task) -> None:
        self._files, self._postgres, self._task = files, postgres, task

    def write(self, rows: EpochRows) -> Mapping[int, str]:
        """Write an epoch's rows; again, if they were written before. Returns those that a sink refused: index → why.

        Raises `TableError`, `TableUnreachableError`, `LaterGenerationError`.
        """
        self._task.begins(f"the tables of epoch {rows.epoch}")
        try:
            refused = self._write(rows)
        except (TableUnreachableError, LaterGenerationError) as error:
            self._task.at(str(error))
            raise
        self._task.ends()
        return refused

    def _write(self, rows: EpochRows) -> Mapping[int, str]:
        self._files.write(rows)
        refused: dict[int, str] = {}
        for name, writer in self._postgres.items():
            mine, indexes = rows_of(rows, name)
            if indexes:
                refused |= writer.write(rows.epoch, mine, indexes)
        return refused

    def close(self) -> None:
        """Let connections go."""
        for writer in self._postgres.values():
            writer.close()


def rows_of(rows: EpochRows, sink: str) -> tuple[pa.StructArray, Sequence[int]]:
    """The rows of a sink that is no topic, and their indexes in the epoch."""
    column = TABLE_PREFIX + sink
    if column not in rows.table.column_names:
        return pa.array([], pa.struct([])), ()
    chosen = pc.equal(rows.table["sink"], sink)
    indexes: list[int] = pc.indices_nonzero(chosen).to_pylist()
    mine = rows.table.filter(chosen)[column].combine_chunks()
    return (mine.combine_chunks() if isinstance(mine, pa.ChunkedArray) else mine), indexes
