"""The DataFrames that a job is given: each source's records, parsed if it has a schema; poison goes aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention

from tandem.manifest import SourceSpec

_CORRUPT = "_corrupt_record"
METADATA = ("topic", "partition", "offset", "timestamp", "epoch", "seq", "epoch_time", "epoch_seed", "answers")
"""Fields of the struct `metadata` that every record of a source has; the last three are for `engine.context`."""

_RAW = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "epoch", "seq")


@dataclass(frozen=True, slots=True)
class SourceFrames:
    """`good` is the job's; `poison` has `key` and `value` of dead letters, None where nothing can be poison."""

    good: DataFrame
    poison: DataFrame | None


def split_sources(stream: DataFrame, sources: Sequence[SourceSpec]) -> dict[str, SourceFrames]:
    """The one physical stream of all records, filtered into a stream per source of the manifest."""
    frames = {}
    for source in sources:
        mine = stream if len(sources) == 1 else stream.filter(F.col("topic").isin(*source.topics))
        frames[source.name] = _parsed(mine, source) if source.format == "json" else _raw(mine)
    return frames


def _raw(records: DataFrame) -> SourceFrames:
    """The columns of Spark's own Kafka source, `epoch` and `seq`, and `metadata`."""
    return SourceFrames(records.select(*_RAW, _metadata()), None)


def _metadata() -> Column:
    return F.struct(*(F.col(f"`{name}`") for name in METADATA)).alias("metadata")


def _parsed(raw: DataFrame, source: SourceSpec) -> SourceFrames:
    """Columns of the schema, then `key` and `metadata`; records that are no JSON of that schema are poison."""
    schema = f"{source.schema_ddl}, {_CORRUPT} STRING"
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    record = F.from_json(F.col("value").cast("string"), schema, options)
    parsed = raw.withColumn("record", record)
    is_good = F.col("record").isNotNull() & F.col(f"record.{_CORRUPT}").isNull()
    good = parsed.filter(is_good).select("record.*", "key", _metadata())
    return SourceFrames(good.drop(_CORRUPT), _dead_letters(parsed.filter(~is_good), source))


def _dead_letters(poison: DataFrame, source: SourceSpec) -> DataFrame:
    reason = F.when(F.col("value").isNull(), F.lit("the record has no value")).otherwise(
        F.lit(f"the value is no JSON of the schema {source.schema_ddl}")
    )
    letter = F.struct(
        F.lit(source.name).alias("source"),
        "topic",
        "partition",
        "offset",
        "timestamp",
        reason.alias("reason"),
        F.col("value").cast("string").alias("value"),
    )
    return poison.select("key", F.to_json(letter).cast("binary").alias("value"))
