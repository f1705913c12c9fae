"""The SQL of a sink in PostgreSQL, and what it says of a table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tandem.manifest import PostgresSink
from tandem.replica.postgres_fit import Column, Shape

_DOCUMENTS: Final = ("json", "jsonb", "json[]", "jsonb[]")

EPOCHS: Final = "tandem_epochs"
"""Tandem's own table, in the schema of each table that it writes: a row for each sink, with the epoch written last."""

DESCRIBE: Final = """
SELECT a.attname,
       CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod) ELSE format_type(a.atttypid, a.atttypmod) END,
       coalesce(e.typtype, t.typtype) = 'e',
       a.attgenerated <> '' OR a.attidentity = 'a',
       a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""

UNIQUES: Final = """
SELECT array_agg(a.attname::text)
FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])
WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL
  AND i.indexprs IS NULL
GROUP BY i.indexrelid
"""

SETTINGS: Final = """
SELECT set_config('lock_timeout', '2s', true), set_config('idle_in_transaction_session_timeout', '10s', true),
       set_config('statement_timeout', '0', true),
       set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
                                        ELSE current_setting('synchronous_commit') END, true)
"""
"""Of one transaction, so that they also hold behind a pool of connections. With synchronous_commit off, a crash of the
database would lose an epoch that Kafka says is published."""

AT_ONCE: Final = "SET CONSTRAINTS ALL IMMEDIATE"
"""So that the statement fails whose row a constraint refuses, and not the commit."""

TERMINATE_IDLE: Final = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name = %s AND datname = current_database() AND pid <> pg_backend_pid()
  AND state LIKE 'idle in transaction%%' AND state_change < now() - interval '1 second'
"""


def application_name(job: str, sink: str) -> str:
    """The name of a sink's sessions, the same for all replicas; PostgreSQL cuts names at 63 bytes."""
    hashed = hashlib.blake2s(f"{job}/{sink}".encode(), digest_size=8).hexdigest()
    return f"tandem {hashed} {job[:20]} {sink[:16]}"


def qualified(sink: PostgresSink) -> str:
    """The table's name with its schema, as SQL has it."""
    return f"{_exact(sink.schema_name)}.{_exact(sink.table)}"


def epochs_table(sink: PostgresSink) -> str:
    """The name of Tandem's own table, with its schema."""
    return f"{_exact(sink.schema_name)}.{EPOCHS}"


def create_epochs(sink: PostgresSink) -> str:
    """Makes Tandem's own table. `refused`: rows of `epoch` that the database did not take, index → why."""
    return (
        f"CREATE TABLE IF NOT EXISTS {epochs_table(sink)} (job text, sink text, generation bigint NOT NULL, "
        "epoch bigint NOT NULL, refused jsonb NOT NULL, written_at timestamptz NOT NULL DEFAULT now(), "
        "run text, PRIMARY KEY (job, sink))"
    )


def add_runs(sink: PostgresSink) -> str:
    """Gives a table of Tandem's own, which an older one has made, the column with the run of each row's epoch."""
    return f"ALTER TABLE {epochs_table(sink)} ADD COLUMN IF NOT EXISTS run text"


def keeps_runs(connection: Any, sink: PostgresSink) -> bool:
    """Whether Tandem's own table has that column. Raises `psycopg.Error`."""
    column = "SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = 'run' AND NOT attisdropped"
    return connection.execute(column, (epochs_table(sink),)).fetchone() is not None


def _read_as(kind: str) -> str:
    """A text for a column of documents is the document: as `json` it would be read as a document that is a text."""
    return kind.replace("jsonb", "text").replace("json", "text") if kind in _DOCUMENTS else kind


def _chosen(name: str, kind: str) -> str:
    return f"{_exact(name)}::{kind} AS {_exact(name)}" if kind in _DOCUMENTS else _exact(name)


def insert(sink: PostgresSink, names: Sequence[str], columns: Mapping[str, Column]) -> str:
    """Writes the rows of a JSON array, its one parameter. Of several rows with one key the last counts."""
    all_names = ", ".join(map(_exact, names))
    typed = ", ".join(f"{_exact(name)} {_read_as(columns[name].kind)}" for name in names)
    chosen = ", ".join(_chosen(name, columns[name].kind) for name in names)
    record = f"json_to_recordset(%s::json) AS ({typed})"
    into = f"INSERT INTO {qualified(sink)} ({all_names}) "
    if sink.mode == "append":
        return f"{into} SELECT {chosen} FROM ROWS FROM ({record}) AS r"
    key = ", ".join(map(_exact, sink.key))
    sets = ", ".join(f"{_exact(name)} = EXCLUDED.{_exact(name)}" for name in names if name not in sink.key)
    return (
        f"{into} SELECT DISTINCT ON ({key}) {chosen} FROM ROWS FROM ({record}) WITH ORDINALITY AS r "
        f"({all_names}, {_exact(_number(names))}) ORDER BY {key}, {_exact(_number(names))} DESC "
        f"ON CONFLICT ({key}) DO {f'UPDATE SET {sets}' if sets else 'NOTHING'}"
    )


def _number(names: Sequence[str]) -> str:
    """A name for the rows' numbers that no column has."""
    name = "n"
    while name in names:
        name += "n"
    return name


def _exact(name: str) -> str:
    return '"' + name.replace('"', '""').replace("%", "%%") + '"'


def describe(connection: Any, sink: PostgresSink) -> Shape:
    """The table as it is now; without columns, if it is not there. Raises `psycopg.Error`."""
    name = (qualified(sink),)
    columns = {
        column: Column(kind, is_enum, is_computed, is_needed)
        for column, kind, is_enum, is_computed, is_needed in connection.execute(DESCRIBE, name).fetchall()
    }
    uniques = frozenset(frozenset(names) for (names,) in connection.execute(UNIQUES, name).fetchall())
    rights = ("INSERT", "UPDATE", "SELECT") if sink.mode == "upsert" else ("INSERT",)
    missing = tuple(
        right
        for right in rights
        if columns
        and not connection.execute(
            "SELECT has_any_column_privilege(to_regclass(%s), %s)", (qualified(sink), right)
        ).fetchone()[0]
    )
    return Shape(columns, uniques, missing)
