"""The value of a sink's rows: one column, or all that are none of Spark's Kafka sink."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import ArrayType, MapType, StructType

from tandem.jobapi.errors import JobError
from tandem.manifest import SinkSpec

_BESIDE: Final = ("key", "partition", "headers")
_JSON: Final = (StructType, ArrayType, MapType)


def with_value(frame: DataFrame, sink: SinkSpec) -> DataFrame:
    """The rows with a column `value`, as text if the sink's format is json. Raises `JobError`: there is nothing for it."""
    if sink.format == "raw":
        return frame
    if "value" not in frame.columns:
        fields = [name for name in frame.columns if name not in _BESIDE]
        if not fields:
            raise JobError(f"sink {sink.name}: the job selects no column that its values could be made of")
        beside = [name for name in _BESIDE if name in frame.columns]
        record = F.struct(*(F.col(_quoted(name)) for name in fields))
        frame = frame.select(*beside, record.alias("value"))
    if sink.format != "json":
        return frame
    kind = frame.schema["value"].dataType
    if not isinstance(kind, _JSON):
        raise JobError(
            f"sink {sink.name}: column `value` is {kind.simpleString()}, and format json writes a struct, map or array. "
            "Select columns without `value`, or leave the format out, and write the text"
        )
    return frame.withColumn("value", F.to_json("value"))


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
