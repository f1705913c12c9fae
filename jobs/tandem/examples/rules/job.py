"""Rules that change while the job runs: counts, sums and extremes of the events that a CEL expression names.

`events` and `control` are the sources of `rules.yaml`, the keys of the result are its sinks. A rule holds from the epoch on
that takes its record in.
"""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import StructType, TimestampType

from tandem.examples.rules.book import REJECTED, RESULTS, Settings
from tandem.examples.rules.expressions import Variables, can_be_named
from tandem.examples.rules.processor import OUTPUT, RulesProcessor

_TYPES: Final = {
    "string": "string",
    "boolean": "bool",
    "tinyint": "int",
    "smallint": "int",
    "int": "int",
    "bigint": "int",
    "float": "double",
    "double": "double",
    "timestamp": "timestamp",
}
"""Spark's → those of expressions. Columns of other types cannot be asked about: cast them in the job."""
_BESIDE: Final = ("key", "metadata")


def job(events: DataFrame, control: DataFrame, ctx: Any) -> dict[str, DataFrame]:
    """What becomes of each sink."""
    options = ctx.options
    variables = variables_of(events.schema)
    settings = Settings(variables, int(options["latenessSeconds"]), int(options["mostRules"]))
    buckets = int(options["buckets"])
    rows = _events(events, variables, buckets).unionByName(_controls(control, buckets), allowMissingColumns=True)
    found = rows.groupBy("bucket").transformWithState(RulesProcessor(settings), OUTPUT, "append", "None")
    return {sink: found.where(F.col("sink") == sink).select("key", "value") for sink in (RESULTS, REJECTED)}


def variables_of(schema: StructType) -> Variables:
    """The columns that an expression can ask about. Raises `ValueError`: `customer` or `time` is missing."""
    found = tuple(
        (column.name, _TYPES[column.dataType.simpleString()])
        for column in schema.fields
        if column.name not in _BESIDE and column.dataType.simpleString() in _TYPES and can_be_named(column.name)
    )
    for needed in (("customer", "string"), ("time", "timestamp")):
        if needed not in found:
            raise ValueError(f"the events have no column {' '.join(needed).upper()}: add it to their schema")
    return found


def _events(events: DataFrame, variables: Variables, buckets: int) -> DataFrame:
    """Each event in the bucket of its customer."""
    columns = [_plain(events, name).alias(name) for name, _ in variables]
    return events.select(
        F.pmod(F.hash("customer"), F.lit(buckets)).alias("bucket"),
        *_place("events"),
        F.struct(*columns).alias("event"),
    )


def _controls(control: DataFrame, buckets: int) -> DataFrame:
    """Each record of the control topic in every bucket."""
    every = F.explode(F.sequence(F.lit(0), F.lit(buckets - 1)))
    return control.select(every.alias("bucket"), *_place("control"), F.struct("key", "value").alias("control"))


def _place(source: str) -> list[Column]:
    where = [F.col(f"metadata.{name}") for name in ("topic", "partition", "offset")]
    place = F.struct(F.lit(source).alias("source"), *where, F.unix_millis("metadata.timestamp").alias("time_ms"))
    return [F.col("metadata.seq"), F.col("metadata.epoch"), place.alias("place")]


def _plain(events: DataFrame, name: str) -> Column:
    """Times as numbers: Python's have no zone, or that of the machine."""
    column = F.col(f"`{name}`")
    return F.unix_micros(column) if isinstance(events.schema[name].dataType, TimestampType) else column
