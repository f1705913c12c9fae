"""The rows of a table's records: read as those of a stream are, and each with its place and what identifies it."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from tandem.intake.parsing import SAID
from tandem.jobapi.errors import JobError
from tandem.jobapi.frames import metadata_column, split_sources
from tandem.manifest import SourceSpec
from tandem.manifest.ddl import column_names

KEY: Final = "_tandem_key"
"""The key columns of a row as one text; null for a tombstone."""
RECORD_KEY: Final = "_tandem_record_key"
"""The key of the record that the row came with; null if it had none."""
SEQ: Final = "_tandem_seq"
"""The place of the record in the epoch."""
POISON: Final = "_tandem_poison"
"""Of a record that is no row: the value of the dead letter to be (see `frames`); else null."""
_RAW: Final = ("key", "value")


def table_columns(source: SourceSpec) -> tuple[str, ...]:
    """The columns that a job finds in a table."""
    return _RAW if source.schema_ddl is None else column_names(source.schema_ddl)


def table_rows(raw: DataFrame, source: SourceSpec) -> DataFrame:
    """One row for each record: the table's columns, then `SEQ`, `POISON` and `KEY`.

    A record without a value is a tombstone: it has no columns and no `KEY`. One without a key either is no row.
    Raises `JobError`: Spark does not take the source's schema, or the table has no such key.
    """
    assert source.table is not None, "it is a table"  # noqa: S101
    if missing := [name for name in source.table.key if name not in table_columns(source)]:
        raise JobError(
            f"source {source.name}: spec.sources[].table.key names {missing[0]}, which is no column of the table. It has "
            f"{', '.join(table_columns(source))}"
        )
    read = split_sources(raw.filter(F.col("value").isNotNull()), [source])[source.name]
    metadata = metadata_column(source, raw.sparkSession)
    own = [F.col(f"`{name}`") for name in table_columns(source)]
    keys = F.to_json(F.struct(*(F.col(f"`{name}`") for name in source.table.key)), {"ignoreNullFields": "false"})
    rows = read.good.select(
        *own,
        F.col(f"`{metadata}`.`seq`").alias(SEQ),
        F.lit(None).cast("string").alias(POISON),
        keys.alias(KEY),
    )
    without = raw.filter(F.col("value").isNull())
    is_nothing = F.col("key").isNull()
    deleted = without.select(F.col("seq").alias(SEQ), F.when(is_nothing, _nothing()).alias(POISON))
    rows = rows.unionByName(deleted, allowMissingColumns=True)
    if read.poison is None:
        return rows
    mark = F.col("value").cast("string")
    poison = read.poison.select(F.split(mark, " ")[0].cast("bigint").alias(SEQ), mark.alias(POISON))
    return rows.unionByName(poison, allowMissingColumns=True)


def _nothing() -> Column:
    return F.concat_ws(" ", F.col("seq").cast("string"), F.lit(f"{SAID}it has neither a key nor a value"))
