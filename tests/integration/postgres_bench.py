"""A table of PostgreSQL of a test's own, and who writes epochs to it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from integration.postgres_server import PostgresServer
from tandem.manifest import PostgresOptions, PostgresSink
from tandem.replica.postgres import PostgresTable, make_row, prepare
from tandem.replica.postgres_writer import PostgresWriter


class Bench:
    """A table of a test's own, and who writes to it."""

    def __init__(self, server: PostgresServer, columns: str, **sink: Any) -> None:
        self.server, self.name = server, f"t_{uuid.uuid4().hex[:8]}"
        if columns:
            server.execute(f"CREATE TABLE {self.name} ({columns})")
        given = {**server.sink(self.name, **sink)}
        made = PostgresSink.model_validate(given)
        self._sink = made
        self.table = PostgresTable("s", made, self.options({}), self.name)

    def options(self, other: Mapping[str, object]) -> Callable[[], PostgresOptions]:
        """What to connect with, some of it otherwise."""
        options = self._sink.options({"PG_PASSWORD": self.server.password}, Path(), "s")
        return lambda: cast(PostgresOptions, {**options, **other})

    def writer(self, generation: int = 0, at: Callable[[str], None] = lambda _: None) -> PostgresWriter:
        prepare([self.table])
        make_row(self.table)
        return PostgresWriter(self.table, generation, at)

    def content(self, what: str = "n", order: str = "n") -> list[Any]:
        rows = self.server.execute(f"SELECT {what} FROM {self.name} ORDER BY {order}")
        return [row[0] if len(row) == 1 else row for row in rows]

    def epoch(self) -> int:
        (row,) = self.server.execute("SELECT epoch FROM tandem_epochs WHERE job = %s", self.name)
        return int(row[0])


MakeBench = Callable[..., Bench]


def numbers(*values: int | None) -> pa.StructArray:
    return pa.array([{"n": value} for value in values], pa.struct([("n", pa.int64())]))


def write(writer: PostgresWriter, epoch: int, *values: int | None) -> dict[int, str]:
    return dict(writer.write(epoch, numbers(*values), range(len(values))))


KEYED = pa.struct([("k", pa.string()), ("n", pa.int64())])


def keyed(*rows: tuple[str | None, int | None]) -> pa.StructArray:
    return pa.array([{"k": key, "n": number} for key, number in rows], KEYED)
