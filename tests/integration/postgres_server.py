"""The PostgreSQL of `tandem dev`, with what tests ask of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tandem.devservers import POSTGRES_USER
from tandem.devservers import PostgresServer as DevPostgres


class PostgresServer(DevPostgres):
    """One server with the database `postgres`, which writes nothing through to the disk: tests kill only the process."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir, extra={"fsync": "off"})

    def execute(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Run a statement; its rows, if it has any."""
        with self.connect() as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def sink(self, table: str, **more: object) -> dict[str, object]:
        """A sink's `postgres` in a manifest; PG_PASSWORD is in the environment."""
        own = {
            "host": self.host,
            "port": self.port,
            "database": "postgres",
            "user": POSTGRES_USER,
            "password": {"env": "PG_PASSWORD"},
        }
        return {**own, "table": table, **more}
