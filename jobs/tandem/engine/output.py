"""What a job returns, as one stream of rows for all sinks of an epoch.

Columns follow Spark's Kafka sink: `key`, `value`, and optionally `partition` and `headers`. `sink` says where a row goes.
The rows of a table sink are in a struct column of their own, named after the sink.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import BinaryType, StringType

from tandem.engine.interface import JobError
from tandem.manifest import SinkSpec
from tandem.topics import TABLE_PREFIX


def one_stream(result: object, sinks: Sequence[SinkSpec]) -> DataFrame:
    """All DataFrames of a job's result in one, each row with its `sink`. Raises `JobError`."""
    frames = _by_sink(result, sinks)
    parts = [
        _table_rows(frames[sink.name], sink) if sink.topic is None else _kafka_rows(frames[sink.name], sink)
        for sink in sinks
    ]
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), parts)


def dead_letters(frames: Sequence[DataFrame], sink: str) -> list[DataFrame]:
    """Poison records (`key`, `value`) as rows of the sink `sink`."""
    return [frame.select(F.lit(sink).alias("sink"), "key", "value") for frame in frames]


def _by_sink(result: object, sinks: Sequence[SinkSpec]) -> Mapping[str, DataFrame]:
    names = [sink.name for sink in sinks]
    if isinstance(result, DataFrame):
        if len(sinks) != 1:
            raise JobError(f"the job returned one DataFrame for {len(sinks)} sinks. Return a dict with {names} as keys")
        return {names[0]: result}
    if (
        isinstance(result, Mapping)
        and set(result) == set(names)
        and all(isinstance(v, DataFrame) for v in result.values())
    ):
        return result
    found = sorted(result) if isinstance(result, Mapping) else type(result).__name__
    raise JobError(
        f"the job returned {found}. Return a DataFrame, or a dict of DataFrames with the sinks {names} as keys"
    )


def _kafka_rows(frame: DataFrame, sink: SinkSpec) -> DataFrame:
    types = {field.name: field.dataType for field in frame.schema.fields}
    if "value" not in types:
        raise JobError(
            f"sink {sink.name}: no column `value` among {list(types)}. As for Spark's Kafka sink, select one, for example "
            'F.to_json(F.struct("*")).alias("value")'
        )
    for name in ("key", "value"):
        if name in types and not isinstance(types[name], BinaryType | StringType):
            raise JobError(
                f"sink {sink.name}: column `{name}` is {types[name].simpleString()}. Cast it to STRING or BINARY"
            )
    key = F.col("key").cast("binary") if "key" in types else F.lit(None).cast("binary")
    columns = [F.lit(sink.name).alias("sink"), key.alias("key"), F.col("value").cast("binary").alias("value")]
    if "partition" in types:
        columns.append(F.col("partition").cast("int").alias("partition"))
    if "headers" in types:
        columns.append(F.col("headers").cast("array<struct<key:string,value:binary>>").alias("headers"))
    return frame.select(columns)


def _table_rows(frame: DataFrame, sink: SinkSpec) -> DataFrame:
    nothing = F.lit(None).cast("binary")
    row = F.struct(*(F.col(f"`{name}`") for name in frame.columns)).alias(TABLE_PREFIX + sink.name)
    return frame.select(F.lit(sink.name).alias("sink"), nothing.alias("key"), nothing.alias("value"), row)
