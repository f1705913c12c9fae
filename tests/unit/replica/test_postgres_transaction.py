"""In a transaction nothing is computed: the server ends a session that holds it and says nothing for ten seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from tandem.manifest import PostgresSink
from tandem.replica import postgres_writer
from tandem.replica.postgres import PostgresTable
from tandem.replica.postgres_fit import Column, Shape
from tandem.replica.postgres_writer import PostgresWriter

ROWS = pa.array([{"n": 1}, {"n": 2}], pa.struct([("n", pa.int64())]))


class Database:
    """A connection that says what happens in which order. `last`: the epoch that is written there."""

    closed = False

    def __init__(self, last: int = -1) -> None:
        self.steps: list[str] = []
        self._last, self._depth = last, 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._depth += 1
        self.steps += ["begin"] if self._depth == 1 else []
        yield
        self._depth -= 1
        self.steps += ["commit"] if self._depth == 0 else []

    def execute(self, statement: str, _values: object = ()) -> Any:
        if statement.lstrip().startswith("INSERT"):
            self.steps.append("insert")
        return SimpleNamespace(fetchone=lambda: (0, self._last, {"0": "why not"}))

    def close(self) -> None:
        """Nothing to do."""


def write(monkeypatch: pytest.MonkeyPatch, database: Database, refused: dict[int, str]) -> dict[int, str]:
    """Writes epoch 0; what it computes and logs is among the steps of the database."""
    original = postgres_writer.encode

    def encode(*given: Any) -> Any:
        database.steps.append("encode")
        found = original(*given)
        return type(found)(found.rows, refused)

    log = SimpleNamespace(warning=lambda *_, **__: database.steps.append("log"))
    monkeypatch.setattr(postgres_writer, "encode", encode)
    monkeypatch.setattr(postgres_writer, "_log", log)
    monkeypatch.setattr(postgres_writer, "connect", lambda _table: database)
    monkeypatch.setattr(postgres_writer, "describe", lambda *_: Shape({"n": Column("bigint")}))
    sink = SimpleNamespace(schema_name="public", table="t", mode="append", key=())
    table = PostgresTable("s", cast(PostgresSink, sink), lambda: {}, "job")
    return dict(PostgresWriter(table, 0).write(0, ROWS, range(2)))


def test_rows_are_encoded_before_the_transaction_and_refusals_logged_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database()

    refused = write(monkeypatch, database, {0: "no"})

    assert refused == {0: "no"}
    assert database.steps == ["encode", "begin", "insert", "commit", "log"]


def test_what_was_refused_when_the_epoch_was_written_is_not_logged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(last=0)

    assert write(monkeypatch, database, {}) == {0: "why not"}
    assert database.steps == ["encode", "begin", "commit"]
