"""What a job returns, as one stream of rows for all sinks of an epoch.

Columns follow Spark's Kafka sink: `key`, `value`, and optionally `partition` and `headers`. `sink` says where a row goes.
The rows of a table sink are in a struct column of their own, named after the sink.

All sinks of a job are one query of Spark, since an epoch is published whole; and a query has one watermark, that of its
slowest input. So the windows of one sink would wait for an input that only another sink reads. Therefore the watermarks of
sinks that do not have the same ones are in groups of their own, for each of which `Watermarks.java` keeps a watermark.
What a watermark has seen counts in all its groups; and a job whose sinks all have the same watermarks stays as it is.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import DataType, LongType

from tandem.engine.jvm_plans import elements, nodes_of
from tandem.engine.plan_tree import is_computed
from tandem.engine.sink_types import check_kafka, check_table
from tandem.engine.sink_values import with_value
from tandem.formats.decoding import Side
from tandem.formats.encoding import encoded_column
from tandem.jobapi.errors import JobError
from tandem.manifest import SinkSpec
from tandem.manifest.formats import REGISTRY_FORMATS
from tandem.topics.declared import TABLE_PREFIX


def apart(frames: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """The sinks' DataFrames, those that have other watermarks than others marked so."""
    if len(frames) < 2:
        return dict(frames)
    session = next(iter(frames.values())).sparkSession
    jvm: Any = session._jvm
    tool = jvm.tandem.WatermarkGroups()
    found = {name: frozenset(tool.identities(_plan(frame)).split()) for name, frame in frames.items()}
    groups = list(dict.fromkeys(identities for identities in found.values() if identities))
    if len(groups) < 2:
        return dict(frames)
    dataset = getattr(jvm.org.apache.spark.sql.classic, "Dataset$").__getattr__("MODULE$")

    def marked(name: str, frame: DataFrame) -> DataFrame:
        if not found[name]:
            return frame
        plan = tool.marked(_plan(frame), groups.index(found[name]))
        return DataFrame(dataset.ofRows(session._jsparkSession, plan), session)

    return {name: marked(name, frame) for name, frame in frames.items()}


def _plan(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed()


def one_stream(result: object, sinks: Sequence[SinkSpec]) -> DataFrame:
    """All DataFrames of a job's result in one, each row with its `sink`. Raises `JobError`."""
    frames = apart(by_sink(result, sinks))
    parts = [
        _table_rows(frames[sink.name], sink) if sink.topic is None else _kafka_rows(frames[sink.name], sink)
        for sink in sinks
    ]
    return reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), parts)


def dead_letters(frames: Sequence[DataFrame], sink: str) -> list[DataFrame]:
    """Poison records (`key`, `value`) as rows of the sink `sink`."""
    return [frame.select(F.lit(sink).alias("sink"), "key", "value") for frame in frames]


def by_sink(result: object, sinks: Sequence[SinkSpec]) -> Mapping[str, DataFrame]:
    """The DataFrames of a job's result, by the sinks' names. Raises `JobError`."""
    names = [sink.name for sink in sinks]
    if isinstance(result, DataFrame):
        if len(sinks) != 1:
            raise JobError(f"the job returned one DataFrame for {len(sinks)} sinks. Return a dict with {names} as keys")
        return _streams({names[0]: result})
    if (
        isinstance(result, Mapping)
        and set(result) == set(names)
        and all(isinstance(v, DataFrame) for v in result.values())
    ):
        return _streams(result)
    raise JobError(
        f"the job returned {_told(result)}. Return a DataFrame, or a dict of DataFrames with the sinks {names} as keys"
    )


def _streams(frames: Mapping[str, DataFrame]) -> Mapping[str, DataFrame]:
    for sink, frame in frames.items():
        if not frame.isStreaming:
            raise JobError(
                f"sink {sink}: the DataFrame that the job returned reads none of the job's sources, so no rows would flow. "
                "Make it of a source, which the function has as a parameter; a table may be joined to it"
            )
    return frames


def _told(result: object) -> str:
    if not isinstance(result, Mapping):
        return type(result).__name__
    values = (f"{key!r}: {type(value).__name__}" for key, value in result.items())
    return f"{{{', '.join(values)}}}"


def _kafka_rows(frame: DataFrame, sink: SinkSpec) -> DataFrame:
    frame = with_value(frame, sink)
    schema = frame.schema
    check_kafka(sink, schema, _computes(frame, "topic"))
    _refuse_other_case(sink, frame)
    types = {field.name: field.dataType for field in schema.fields}
    columns = [F.lit(sink.name).alias("sink"), *_side(sink, "key", types), *_side(sink, "value", types)]
    if "partition" in types:
        columns.append(_partition(types["partition"]).alias("partition"))
    if "headers" in types:
        columns.append(F.col("headers").cast("array<struct<key:string,value:binary>>").alias("headers"))
    return frame.select(columns)


def _side(sink: SinkSpec, side: Side, types: Mapping[str, DataType]) -> list[Column]:
    """The column `key` or `value`, and what it will be encoded of, if it is."""
    form = sink.format if side == "value" else sink.key_format
    nothing = F.lit(None).cast("binary").alias(side)
    if form in REGISTRY_FORMATS:
        return [nothing, F.col(side).alias(encoded_column(sink.name, side))]
    return [F.col(side).cast("binary").alias(side) if side in types else nothing]


def _refuse_other_case(sink: SinkSpec, frame: DataFrame) -> None:
    """Spark's Kafka sink passes over a column `KEY`: its rows would have no key. One that is only passed on is ignored."""
    for name in ("key", "partition", "headers"):
        other = next((column for column in frame.columns if column.lower() == name), name)
        if name not in frame.columns and other != name and _computes(frame, name):
            raise JobError(
                f"sink {sink.name}: the job gives its rows a column `{other}`. Write `{name}`, in lower case"
            )


def _partition(kind: DataType) -> Column:
    """A number beyond those of partitions becomes one that no topic has, so that its row is a dead letter."""
    column = F.col("partition")
    if not isinstance(kind, LongType):
        return column.cast("int")
    is_number = column.isNull() | column.between(-(2**31), 2**31 - 1)
    return F.when(is_number, column).otherwise(F.lit(-1)).cast("int")


def _computes(frame: DataFrame, name: str) -> bool:
    """Whether the job gives its rows this column itself, and does not only pass on that of an input."""
    plan = frame._jdf.queryExecution().analyzed()
    mine = {int(a.exprId().id()) for a in elements(plan.output()) if a.name().lower() == name}
    return bool(mine) and any(is_computed(one, name, nodes_of(plan)) for one in mine)


def _table_rows(frame: DataFrame, sink: SinkSpec) -> DataFrame:
    check_table(sink.name, sink.kind, frame.schema)
    nothing = F.lit(None).cast("binary")
    row = F.struct(*(F.col(f"`{name.replace('`', '``')}`") for name in frame.columns)).alias(TABLE_PREFIX + sink.name)
    return frame.select(F.lit(sink.name).alias("sink"), nothing.alias("key"), nothing.alias("value"), row)
