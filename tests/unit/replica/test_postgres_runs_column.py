"""The column with the runs of epochs is added to a table that an older Tandem has made, where that can be done at once."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest

from tandem.manifest import PostgresSink
from tandem.replica.postgres import PostgresTable, _keep_runs


class Refusing:
    """A connection whose server refuses to change tables."""

    def __init__(self, error: psycopg.Error, broken: bool = False) -> None:
        self._error, self.broken = error, broken
        self.asked: list[str] = []

    def transaction(self) -> Any:
        return nullcontext()

    def execute(self, statement: str) -> None:
        self.asked.append(statement)
        if "ALTER" in statement:
            raise self._error


def table() -> PostgresTable:
    sink = {"host": "db", "database": "shop", "user": "u", "password": {"env": "P"}, "table": "totals"}
    made = PostgresSink.model_validate(sink)
    return PostgresTable("s", made, made.options({"P": "x"}, Path(), "s"), "job")


@pytest.mark.parametrize(
    "error",
    [
        psycopg.errors.InsufficientPrivilege("must be owner"),
        psycopg.errors.LockNotAvailable("lock timeout"),
        psycopg.errors.WrongObjectType("tandem_epochs is a view"),
        psycopg.errors.QueryCanceled("statement timeout"),
        psycopg.errors.ReadOnlySqlTransaction("read only"),
        psycopg.errors.RaiseException("no DDL here, an event trigger says"),
    ],
)
def test_a_refusal_keeps_no_replica_from_starting(error: psycopg.Error) -> None:
    connection = Refusing(error)
    _keep_runs(cast(Any, connection), table())
    assert connection.asked[0] == "SET LOCAL lock_timeout = '100ms'", "the epochs of other jobs queue behind it"


def test_a_connection_that_is_lost_is_said() -> None:
    with pytest.raises(psycopg.OperationalError):
        _keep_runs(cast(Any, Refusing(psycopg.OperationalError("lost"), broken=True)), table())
