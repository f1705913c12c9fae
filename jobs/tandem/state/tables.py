"""The tables of a job, sources that are tables, as a checkpoint keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from tandem.engine.tables.content import columns_of
from tandem.engine.tables.versions import TableVersions, columns_kept
from tandem.jobapi.errors import JobError
from tandem.manifest import SourceSpec
from tandem.process.errors import StateError
from tandem.state.errors import UnknownTableError
from tandem.state.operators import Part
from tandem.state.reader import Page, page_of


@dataclass(frozen=True, slots=True)
class KeptTable:
    """A table: its columns that identify a row, and its rows, oldest change first."""

    name: str
    key: tuple[str, ...]
    rows: pa.Table

    @property
    def columns(self) -> dict[str, str]:
        """Column → type, as Arrow calls it."""
        return {field.name: str(field.type) for field in self.rows.schema}

    def page(self, spark: SparkSession, key: Sequence[str] = (), limit: int = 20) -> Page:
        """Up to `limit` rows, of those with that key (see `keys.parse_key`). Raises `BadKeyError`."""
        others = [name for name in self.rows.column_names if name not in self.key]
        frame: DataFrame = spark.createDataFrame(self.rows)
        parts = [F.struct(*self.key).alias("key"), *([F.struct(*others).alias("value")] if others else [])]
        return page_of(spark, frame.select(*parts), Part(), key, limit)


def tables_of(sources: Iterable[SourceSpec], checkpoint: Path, batch: int) -> tuple[KeptTable, ...]:
    """The tables of a job behind Spark's batch `batch`; those that no record has come of yet are left out.

    Raises `StateError`: a table is not there as it should be.
    """
    found = []
    for source in sources:
        columns = None if source.table is None else columns_kept(checkpoint, source.name)
        if source.table is None or columns is None:
            continue
        try:
            content = TableVersions(checkpoint, source.name, columns).restore(batch)
        except JobError as error:
            raise StateError(str(error)) from error
        found.append(KeptTable(source.name, source.table.key, columns_of(content)))
    return tuple(found)


def find_table(tables: Sequence[KeptTable], wanted: str) -> KeptTable:
    """The table of that name. Raises `UnknownTableError`, which tells those that there are."""
    for table in tables:
        if table.name == wanted:
            return table
    there = ", ".join(table.name for table in tables) or "none that a record has come of"
    raise UnknownTableError(f"there is no table {wanted}: there are {there}")
