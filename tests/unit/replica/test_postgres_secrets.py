"""A password in a file is read for each connection, so a rotated one is taken; one of the environment needs a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from tandem.manifest import Manifest, parse
from tandem.replica.postgres import PostgresTable, postgres_tables, prepare
from tandem.replica.postgres_writer import PostgresWriter
from tandem.replica.table_errors import TableError, TableUnreachableError

ROWS = pa.array([{"n": 1}], pa.struct([("n", pa.int64())]))
REFUSED = 'connection failed: FATAL:  password authentication failed for user "tandem"'
AWAY = "connection failed: Connection refused"


class Server:
    """Refuses each connection, and knows with which password it was asked."""

    def __init__(self, words: str) -> None:
        self.words, self.passwords = words, list[str]()

    def connect(self, *, password: str, **_other: Any) -> Any:
        self.passwords.append(password)
        raise psycopg.OperationalError(self.words)


@pytest.fixture
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server(getattr(request, "param", REFUSED))
    monkeypatch.setattr(psycopg, "connect", made.connect)
    return made


def table_of(folder: Path, password: dict[str, str]) -> PostgresTable:
    sink = {"host": "db", "database": "shop", "user": "tandem", "password": password, "table": "totals"}
    spec = {
        "job": {"file": "job.py"},
        "kafka": {"bootstrapServers": "kafka:9092"},
        "zookeeper": {"connect": "zookeeper:2181"},
        "sources": [{"name": "orders", "topics": ["orders"]}],
        "sinks": [{"name": "db", "postgres": sink}],
    }
    kind = {"apiVersion": "tandem.dev/v1alpha1", "kind": "ReplicatedStreamJob", "metadata": {"name": "shop"}}
    manifest = Manifest(parse({**kind, "spec": spec}), folder / "job.yaml", folder)
    (table,) = postgres_tables(manifest, {"PG_PASSWORD": "old"}, "a")
    return table


def refusal_of(writer: PostgresWriter) -> str:
    with pytest.raises(TableUnreachableError) as caught:
        writer.write(0, ROWS, [0])
    return str(caught.value)


def test_a_file_that_changes_is_read_again_for_the_next_connection(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("old\n")
    table = table_of(tmp_path, {"file": "password"})
    writer = PostgresWriter(table, 0)

    first = refusal_of(writer)
    file.write_text("new\n")
    refusal_of(writer)

    assert server.passwords == ["old", "new"]
    assert "restart" not in first
    assert "old" not in first + repr(table)


def test_a_file_that_is_away_is_waited_for_in_a_running_job_and_refused_at_the_start(
    server: Server, tmp_path: Path
) -> None:
    file = tmp_path / "password"
    file.write_text("old\n")
    table = table_of(tmp_path, {"file": "password"})
    writer = PostgresWriter(table, 0)
    file.unlink()

    assert "cannot read the secret file" in refusal_of(writer)
    with pytest.raises(TableError, match="cannot read the secret file"):
        prepare([table])
    with pytest.raises(TableError, match="cannot read the secret file"):
        table_of(tmp_path, {"file": "password"})

    assert server.passwords == []


def test_a_login_that_is_refused_says_that_a_restart_reads_the_environment_again(
    server: Server, tmp_path: Path
) -> None:
    table = table_of(tmp_path, {"env": "PG_PASSWORD"})
    wanted = "The password is that of PG_PASSWORD at the start of this process: a restart reads it again"

    assert wanted in refusal_of(PostgresWriter(table, 0))
    with pytest.raises(TableError, match=wanted):
        prepare([table])

    assert server.passwords == ["old", "old"]


@pytest.mark.parametrize("server", [AWAY], indirect=True)
def test_a_server_that_is_away_says_nothing_of_the_password(server: Server, tmp_path: Path) -> None:
    table = table_of(tmp_path, {"env": "PG_PASSWORD"})

    assert "restart" not in refusal_of(PostgresWriter(table, 0))
    assert server.passwords == ["old"]
