"""Sinks in PostgreSQL: how they are reached, and what is made sure of at the start. `postgres_writer.py` writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from pyspark.sql.types import StructType

from tandem.logs import get_logger
from tandem.manifest import Manifest, PostgresOptions, PostgresSink, SecretError
from tandem.replica.earlier_runs import earlier_run, is_of_other_run
from tandem.replica.postgres_fit import Shape, create_statement, misfits, shown
from tandem.replica.postgres_sql import add_runs, application_name, create_epochs, describe, epochs_table, keeps_runs
from tandem.replica.table_access import TableUnreachableError
from tandem.replica.tables import TableError
from tandem.topics.declared import TABLE_PREFIX

if TYPE_CHECKING:
    from psycopg import Connection

_T = TypeVar("_T")

_log = get_logger(__name__)

CONNECT_TIMEOUT_S: Final = 10
_LONGEST_REASON: Final = 400
_FOR_GOOD: Final = ("28", "3D", "3F", "42")
"""Classes that say that the set-up is wrong: login, database, schema, names and rights."""


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """A sink in PostgreSQL and how it is reached. `job`: who writes, as `tandem_epochs` names it. `run`: see `run_of`.

    options : reads what to connect with, for each connection: a file with a secret may change. Raises `SecretError`.
    """

    name: str
    sink: PostgresSink
    options: Callable[[], PostgresOptions]
    job: str
    run: str = ""

    def __str__(self) -> str:
        return f"the postgres table {shown(self.sink)} of sink {self.name}"

    def __repr__(self) -> str:
        return str(self)  # without the password


def postgres_tables(manifest: Manifest, environ: Mapping[str, str], replica: str) -> tuple[PostgresTable, ...]:
    """The sinks of a job that are tables of PostgreSQL. Raises `TableError`: no psycopg, or a secret is missing.

    replica : its name; without ordering each replica has epochs of its own.
    """
    found = [(sink.name, sink.postgres) for sink in manifest.spec.sinks if sink.postgres is not None]
    if not found:
        return ()
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise TableError("a postgres sink needs the package psycopg: pip install 'tandem-stream[postgres]'") from error
    job = f"{manifest.name}/{replica}" if manifest.spec.ordering.mode == "none" else manifest.name
    try:
        for name, sink in found:
            sink.options(environ, manifest.base, name)
    except SecretError as error:
        raise TableError(str(error)) from error
    return tuple(
        PostgresTable(name, sink, partial(sink.options, environ, manifest.base, name), job) for name, sink in found
    )


def connect(table: PostgresTable) -> Connection[Any]:
    """A connection that begins no transaction by itself. Raises `psycopg.Error`, `SecretError`."""
    import psycopg

    return psycopg.connect(
        **table.options(),
        application_name=application_name(table.job, table.name),
        connect_timeout=CONNECT_TIMEOUT_S,
        keepalives_idle=10,
        keepalives_interval=5,
        keepalives_count=3,
        tcp_user_timeout=20_000,
        autocommit=True,
        prepare_threshold=None,  # a pool of connections between us and the server may not keep what is prepared
        client_encoding="utf8",
    )


@contextmanager
def speaking(table: PostgresTable, at_start: bool = True) -> Iterator[None]:
    """Errors of the database and secrets as `TableUnreachableError`; `at_start` as `TableError`, if the set-up is wrong."""
    import psycopg

    try:
        yield
    except SecretError as error:
        if at_start:
            raise TableError(str(error)) from error
        raise TableUnreachableError(f"{table} cannot be written: {error}. It is tried again") from error
    except psycopg.Error as error:
        words = f"{table} cannot be written: {said(error)}{_of_an_old_password(error, table.sink)}"
        if at_start and ((error.sqlstate or "")[:2] in _FOR_GOOD or _is_refused_login(error)):
            raise TableError(f"{words}. Correct spec.sinks, or what the database knows of user and table") from error
        raise TableUnreachableError(f"{words}. It is tried again") from error


def prepare(tables: Sequence[PostgresTable]) -> dict[str, int]:
    """Make sure that there is a `tandem_epochs` for each sink. Returns the last epoch of each; −1: none was written.

    Raises `TableError`, `TableUnreachableError`.
    """
    return {table.name: _with(table, partial(_begun, table=table)) for table in tables}


def make_row(table: PostgresTable) -> None:
    """Give the sink its row in `tandem_epochs`, unless it has one. Raises as `prepare`."""
    _with(table, partial(_insert_row, table=table))


def check_row(table: PostgresTable) -> None:
    """Raise `TableError` if the sink has no row in `tandem_epochs`; else as `prepare`."""
    if _with(table, partial(_newest, table=table)) is None:
        raise TableError(row_gone(table))


def row_gone(table: PostgresTable) -> str:
    """What to say where a job goes on whose row is not there."""
    return (
        f"sink {table.name}: its row in {table.sink.schema_name}.tandem_epochs was removed, so nobody knows which "
        "epochs are written. Put it back, or give the job another metadata.name and the sink another table"
    )


def refuse_earlier_runs(
    tables: Sequence[PostgresTable],
    newest: Mapping[str, int],
    last_published: Callable[[], int],
    run: Callable[[], str],
) -> None:
    """Raise `TableError` if a table has epochs of a job that ran before, with the numbers of epochs to come.

    `newest` : as `prepare` returns it. `last_published`, `run` : as for `refuse_tables_of_earlier_runs`.
    """
    for table in tables:
        is_other = partial(_is_other, table, newest[table.name], run)
        if why := earlier_run(newest[table.name], last_published, is_other):
            raise TableError(
                f"sink {table.name}: {shown(table.sink)} {why}. Give the job another metadata.name; or, if it shall "
                f"write behind the rows of that run: {_forget(table, last_published())}"
            )


def _is_other(table: PostgresTable, epoch: int, run: Callable[[], str]) -> bool:
    def kept(connection: Connection[Any]) -> str | None:
        row = connection.execute(
            f"SELECT to_jsonb(e) ->> 'run' FROM {epochs_table(table.sink)} AS e WHERE job = %s AND sink = %s",
            (table.job, table.name),
        ).fetchone()
        return None if row is None else row[0]

    return is_of_other_run(_with(table, kept), epoch, run())


def _forget(table: PostgresTable, last: int) -> str:
    """The statement by which a job whose `last` epoch is published writes its next one."""
    row = f"WHERE job = '{table.job}' AND sink = '{table.name}'"
    if last < 0:
        return f"DELETE FROM {epochs_table(table.sink)} {row}"
    return f"UPDATE {epochs_table(table.sink)} SET generation = -1, epoch = {last}, refused = '{{}}' {row}"


def check_fit(tables: Sequence[PostgresTable], rows: StructType) -> None:
    """Raise `TableError` with each column of the job's rows that a table would change or refuse.

    rows : of all sinks, those of a table in a column of its own; see `one_stream`.

    Raises `TableUnreachableError` too.
    """
    for table in tables:
        shape = _with(table, partial(describe, sink=table.sink))
        check_shape(table, shape, cast(StructType, rows[TABLE_PREFIX + table.name].dataType))


def check_shape(table: PostgresTable, shape: Shape, rows: StructType) -> None:
    """Raise `TableError` if the rows do not fit."""
    if not shape.columns:
        statement = create_statement(table.sink, rows)
        raise TableError(f"sink {table.name}: there is no table {shown(table.sink)}. Create it, e.g. {statement}")
    if found := list(misfits(shape, rows, table.sink)):
        raise TableError(f"sink {table.name}: the rows do not fit {table}: {'; '.join(found)}")


def _begun(connection: Connection[Any], table: PostgresTable) -> int:
    import psycopg

    exists = connection.execute("SELECT to_regclass(%s)", (epochs_table(table.sink),)).fetchone()
    if exists is None or exists[0] is None:
        with connection.transaction():  # two replicas at once: one of them waits
            connection.execute("SELECT pg_advisory_xact_lock(7235461001)")
            try:
                connection.execute(create_epochs(table.sink))
            except psycopg.errors.InsufficientPrivilege as error:
                raise TableError(
                    f"sink {table.name}: the user {table.sink.user} may not create Tandem's own table in the schema "
                    f"{table.sink.schema_name}. GRANT CREATE on it, or create it: {create_epochs(table.sink)}"
                ) from error
    if not keeps_runs(connection, table.sink):
        _keep_runs(connection, table)
    newest = _newest(connection, table)
    return -1 if newest is None else newest


def _keep_runs(connection: Connection[Any], table: PostgresTable) -> None:
    """Add the column with the runs, which a table works without; other jobs' epochs queue behind it, so it waits shortly."""
    import psycopg

    try:
        with connection.transaction():
            connection.execute("SET LOCAL lock_timeout = '100ms'")
            connection.execute(add_runs(table.sink))
    except psycopg.Error as error:
        if connection.broken:
            raise
        _log.warning("runs_not_kept", sink=table.name, reason=said(error), remedy=add_runs(table.sink))


def _newest(connection: Connection[Any], table: PostgresTable) -> int | None:
    newest = f"SELECT epoch FROM {epochs_table(table.sink)} WHERE job = %s AND sink = %s"
    row = connection.execute(newest, (table.job, table.name)).fetchone()
    return None if row is None else int(row[0])


def _insert_row(connection: Connection[Any], table: PostgresTable) -> None:
    if _newest(connection, table) is None:  # an INSERT would wait for an owner that writes at the moment
        connection.execute(
            f"INSERT INTO {epochs_table(table.sink)} (job, sink, generation, epoch, refused) "
            "VALUES (%s, %s, -1, -1, '{}') ON CONFLICT DO NOTHING",
            (table.job, table.name),
        )


def _with(table: PostgresTable, look: Callable[[Connection[Any]], _T]) -> _T:
    with speaking(table), connect(table) as connection:
        return look(connection)


def _of_an_old_password(error: Exception, sink: PostgresSink) -> str:
    """What to add to a refused login whose password may have changed since the start; "": nothing."""
    if sink.password_variable is None or "password authentication failed" not in str(error):
        return ""
    return f". The password is that of {sink.password_variable} at the start of this process: a restart reads it again"


def _is_refused_login(error: Exception) -> bool:
    """The client has no SQLSTATE for what ended a connection before it was one."""
    words = (
        "authentication failed",
        "no password supplied",
        "does not exist",
        "certificate verify failed",
        "pg_hba.conf",
    )
    return any(word in str(error) for word in words)


def said(error: Any) -> str:
    """What the database says, in a line, with the detail that names the values."""
    diagnosis = getattr(error, "diag", None)
    detail = getattr(diagnosis, "message_detail", None)
    text = getattr(diagnosis, "message_primary", None) or str(error)
    words = " ".join(f"{text}. {detail}".split() if detail else str(text).split())
    return words[:_LONGEST_REASON].rstrip(". ")
