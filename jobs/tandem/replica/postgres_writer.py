"""Writes epochs to a table of PostgreSQL: the rows and the epoch's number in one transaction of the database.

A row of `tandem_epochs` is locked before anything is written, and says which epoch was written last. The second to come,
a deposed owner that wakes up or its successor, waits for the lock, sees the epoch there and writes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from tandem.logs import get_logger
from tandem.replica.earlier_runs import written_by
from tandem.replica.postgres import PostgresTable, connect, row_gone, said, speaking
from tandem.replica.postgres_fit import Shape
from tandem.replica.postgres_rows import encode
from tandem.replica.postgres_sql import (
    AT_ONCE,
    SETTINGS,
    TERMINATE_IDLE,
    application_name,
    describe,
    epochs_table,
    insert,
    keeps_runs,
)
from tandem.replica.table_access import LaterGenerationError, TableUnreachableError
from tandem.replica.table_errors import TableAheadError, TableError
from tandem.replica.tables import ahead

if TYPE_CHECKING:
    from psycopg import Connection

_log = get_logger(__name__)

_OF_A_ROW: Final = ("20000", "21000", "44000")
_OF_A_ROW_CLASSES: Final = ("22", "23", "2F", "38", "54", "P0")
"""SQLSTATEs that say that the database does not take a row: bad data, constraints, checks of views, limits, what triggers
raise in any language, a CASE in one that has no branch for it. 21000: two rows of one key by the rules of its index; one
after the other, both are taken. 54001: documents within documents, deeper than the server's stack."""
_POSTGRES_CLASSES: Final = (
    *("00", "01", "02", "03", "08", "09", "0A", "0B", "0F", "0L", "0P", "0Z", "10", "20", "21"),
    *("22", "23", "24", "25", "26", "27", "28", "2B", "2D", "2F", "34", "38", "39", "3B", "3D"),
    *("3F", "40", "42", "44", "53", "54", "55", "57", "58", "72", "F0", "HV", "P0", "XX"),
)
"""All classes of PostgreSQL itself: a trigger may raise others, as ERRCODE '45000'."""


@dataclass(frozen=True, slots=True)
class _Insertion:
    """An epoch's rows as one statement takes them, chunk by chunk. `refused`: index → why no table takes the row."""

    statement: str
    chunks: Sequence[Sequence[tuple[int, str]]]
    refused: Mapping[int, str]


class PostgresWriter:
    """Writes the epochs of one generation to one table. `at` : called with each step."""

    def __init__(self, table: PostgresTable, generation: int, at: Callable[[str], None] = lambda _: None) -> None:
        self._table, self._generation, self._at = table, generation, at
        self._connection: Connection[Any] | None = None
        self._shape = Shape({})
        self._keeps_runs = False

    def close(self) -> None:
        """Let the connection go."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def write(self, epoch: int, rows: pa.StructArray, indexes: Sequence[int]) -> Mapping[int, str]:
        """Write an epoch's rows, unless they were written before. Returns those that are refused: index → why.

        indexes : of the rows in their epoch.

        Raises `TableUnreachableError`: not now; `TableError`: nobody knows what is written; `LaterGenerationError`.
        """
        import psycopg

        try:
            with speaking(self._table, at_start=False):
                connection = self._connected(rows.type)
                insertion = self._insertion(rows, indexes)
                try:
                    with connection.transaction():
                        refused, is_new = self._transacted(connection, epoch, insertion)
                except psycopg.errors.LockNotAvailable:
                    _free(connection, self._table)
                    raise
        except BaseException:
            self.close()
            raise
        for index, why in refused.items() if is_new else ():
            _log.warning("row_refused", epoch=epoch, index=index, sink=self._table.name, reason=why)
        return refused

    def _insertion(self, rows: pa.StructArray, indexes: Sequence[int]) -> _Insertion:
        """Made before the transaction, in which the server ends a session that says nothing for 10 s."""
        sink, columns = self._table.sink, self._shape.columns
        self._at(f"the {len(rows):,} rows for {self._table}, which are encoded")
        encoded = encode(rows, indexes, sink.key, {name: column.width for name, column in columns.items()})
        statement = insert(sink, [field.name for field in rows.type], columns)
        return _Insertion(statement, encoded.chunks(), encoded.refused)

    def _transacted(
        self, connection: Connection[Any], epoch: int, insertion: _Insertion
    ) -> tuple[Mapping[int, str], bool]:
        """Which rows are refused, and whether they were written by this call."""
        table = self._table
        connection.execute(SETTINGS)
        written = self._written(connection, epoch)
        if written is not None:
            return written, False
        connection.execute(AT_ONCE)
        refused = {**insertion.refused}
        count = sum(map(len, insertion.chunks))
        for chunk in insertion.chunks:
            self._at(f"{table}, which takes {count:,} rows")
            refused |= _inserted(connection, insertion.statement, chunk)
        self._note(connection, epoch, refused)
        self._at(f"the commit of {table}")
        return refused, True

    def _connected(self, rows: pa.StructType) -> Connection[Any]:
        if self._connection is None or self._connection.closed:
            self._at(f"{self._table}, which is connected to")
            connection = self._connection = connect(self._table)
            self._shape = describe(connection, self._table.sink)
            self._keeps_runs = bool(self._table.run) and keeps_runs(connection, self._table.sink)
            if missing := [field.name for field in rows if field.name not in self._shape.columns]:
                raise TableUnreachableError(
                    f"{self._table} is not there any more, or has not the column {missing[0]}. It is tried again"
                )
        return self._connection

    def _written(self, connection: Connection[Any], epoch: int) -> Mapping[int, str] | None:
        """Which rows of the epoch were refused when it was written; None: it was not. Holds the lock from now on."""
        table = self._table
        self._at(f"the lock of {table}")
        row = connection.execute(
            f"SELECT generation, epoch, refused FROM {epochs_table(table.sink)} WHERE job = %s AND sink = %s FOR UPDATE",
            (table.job, table.name),
        ).fetchone()
        if row is None:
            raise TableError(row_gone(table))
        generation, last, refused = row
        if last == epoch and generation != self._generation:
            # The indexes are those of that generation's rows: this one's, of other code, may be others at the same places.
            _log.warning(
                "epoch_of_another_generation",
                epoch=epoch,
                sink=table.name,
                generation=generation,
                effect=f"the table has the rows of generation {generation}; those that it refused have no dead letter",
                refused=dict(refused),
            )
            return {}
        if last > epoch:
            raise TableAheadError(ahead(str(table), last, epoch))
        if last == epoch:
            return {int(index): why for index, why in refused.items()}
        if generation > self._generation:
            raise LaterGenerationError(f"generation {generation} writes {table}, and this is {self._generation}")
        return None

    def _note(self, connection: Connection[Any], epoch: int, refused: Mapping[int, str]) -> None:
        """Note the epoch. Not every database takes all that it said itself of a row."""
        import psycopg

        if not refused:
            self._update(connection, epoch, refused)
            return
        try:
            with connection.transaction():
                self._update(connection, epoch, refused)
        except psycopg.DataError:
            self._update(connection, epoch, {index: _in_ascii(why) for index, why in refused.items()})

    def _update(self, connection: Connection[Any], epoch: int, refused: Mapping[int, str]) -> None:
        table, run = self._table, written_by(self._table.run, epoch)
        keep, kept = (", run = %s", (run,)) if self._keeps_runs else ("", ())
        connection.execute(
            f"UPDATE {epochs_table(table.sink)} SET generation = %s, epoch = %s, refused = %s::jsonb, written_at = now()"
            f"{keep} WHERE job = %s AND sink = %s",
            (self._generation, epoch, json.dumps(refused, ensure_ascii=False), *kept, table.job, table.name),
        )


def _in_ascii(text: str) -> str:
    return "".join(one if " " <= one <= "~" else "?" for one in text)


def _inserted(connection: Connection[Any], statement: str, rows: Sequence[tuple[int, str]]) -> dict[int, str]:
    """Insert rows, in their order, without those that the database does not take: index → why."""
    import psycopg

    try:
        with connection.transaction():
            connection.execute(statement, (f"[{','.join(text for _, text in rows)}]",))
    except psycopg.Error as error:
        if not is_of_a_row(error.sqlstate or error.diag.sqlstate or "", error.diag):
            raise
        if len(rows) == 1:
            return {rows[0][0]: f"the database does not take it: {said(error)}"}
        half = len(rows) // 2
        return _inserted(connection, statement, rows[:half]) | _inserted(connection, statement, rows[half:])
    return {}


def is_of_a_row(state: str, diagnosis: Any) -> bool:
    """Whether an error is one row's, and no trouble that may pass.

    `state` : its SQLSTATE; "": it has none. `diagnosis` : what the server says beside it, as `psycopg.errors.Diagnostic`.
    """
    if state in _OF_A_ROW or state[:2] in _OF_A_ROW_CLASSES:
        return True
    if state == "42501":  # a right that is missing, or a row that no policy allows
        said_by, words = diagnosis.source_function, diagnosis.message_primary or ""
        return said_by == "ExecWithCheckOptions" or "new row violates row-level security" in words
    # What stands between us and the server has codes of its own, too; but it calls no functions.
    return bool(state) and state[:2] not in _POSTGRES_CLASSES and bool(diagnosis.context)


def _free(connection: Connection[Any], table: PostgresTable) -> None:
    """End sessions of this sink that hold the lock and do nothing: those of an owner that is stopped or cut off."""
    ended = connection.execute(TERMINATE_IDLE, (application_name(table.job, table.name),)).fetchall()
    if ended:
        _log.warning(
            "postgres_session_ended", sink=table.name, sessions=len(ended), reason="it held the lock, and idled"
        )
