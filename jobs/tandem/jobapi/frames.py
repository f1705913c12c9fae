"""The DataFrames that a job is given: each source's records, parsed if it has a schema; poison goes aside."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's own convention
from pyspark.sql.types import StructType

from tandem.formats.decoding import column_of
from tandem.jobapi.errors import JobError
from tandem.manifest import SourceSpec
from tandem.manifest.ddl import column_names
from tandem.manifest.formats import REGISTRY_FORMATS

METADATA = ("topic", "partition", "offset", "timestamp", "epoch", "seq", "epoch_time", "epoch_seed", "answers")
"""Fields of the struct `metadata` that every record of a source has; the last three are for `engine.context`."""

_KAFKA = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
_NUMBERS = ("epoch", "seq")
_HEADERS = "headers"


@dataclass(frozen=True, slots=True)
class SourceFrames:
    """`good` is the job's; `poison` has the dead letters to be (see `letters_of`), None where nothing can be poison."""

    good: DataFrame
    poison: DataFrame | None


def split_sources(stream: DataFrame, sources: Sequence[SourceSpec]) -> dict[str, SourceFrames]:
    """The one physical stream of all records, filtered into a stream per source of the manifest. Raises `JobError`."""
    frames = {}
    for source in sources:
        mine = stream if len(sources) == 1 else stream.filter(F.col("topic").isin(*source.topics))
        if source.key_format in REGISTRY_FORMATS:
            mine = mine.withColumn("key", F.col(column_of(source.name, "key")))
        frames[source.name] = _of_format(mine, source)
    return frames


def _of_format(records: DataFrame, source: SourceSpec) -> SourceFrames:
    if source.format == "json":
        return _parsed(records, source)
    return _decoded(records, source) if source.format in REGISTRY_FORMATS else _raw(records, source)


def wrong_schema(source: SourceSpec, error: PySparkException) -> JobError:
    """Spark does not take the schema of a source, or does not read it from JSON: it never will."""
    said = str(error).strip().partition("\n")[0].rstrip(".;")
    return JobError(
        f"source {source.name}: Spark reads no JSON of the schema {source.schema_ddl}: {said}. Give these columns "
        "another type in spec.sources, e.g. STRING, and cast them in the job"
    )


def metadata_column(source: SourceSpec, spark: SparkSession) -> str:
    """The name of the struct that `METADATA` is in: `metadata`, unless the schema has a column of that name."""
    return _free("metadata", _columns(source), spark)


def _raw(records: DataFrame, source: SourceSpec) -> SourceFrames:
    """The columns of Spark's own Kafka source, `epoch` and `seq`, and `metadata`."""
    headers = (_HEADERS,) if source.include_headers else ()
    return SourceFrames(records.select(*_KAFKA, *headers, *_NUMBERS, _metadata("metadata")), None)


def _metadata(name: str, more: Sequence[str] = ()) -> Column:
    return F.struct(*(F.col(f"`{field}`") for field in (*METADATA, *more))).alias(name)


def _parsed(raw: DataFrame, source: SourceSpec) -> SourceFrames:
    """Columns of the schema, then `key`, `headers` and `metadata`; records that are no JSON of that schema are poison.

    A column of the schema keeps its name: what the record has of that name is then in the struct.
    """
    columns, spark = _columns(source), raw.sparkSession
    corrupt = _free("_corrupt_record", columns, spark)
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": corrupt}
    record = F.from_json(F.col("value").cast("string"), f"{source.schema_ddl}\n, {corrupt} STRING", options)
    try:
        parsed = raw.withColumn("record", record)
    except PySparkException as error:
        raise wrong_schema(source, error) from error
    is_good = F.col("record").isNotNull() & F.col(f"record.{corrupt}").isNull()
    good = parsed.filter(is_good).select("record.*", *_beside(source, spark)).drop(corrupt)
    return SourceFrames(good, _poison(parsed.filter(~is_good), columns))


def _decoded(records: DataFrame, source: SourceSpec) -> SourceFrames:
    """The columns of `_parsed`, of values that the intake has decoded: what could not be is not among the records.

    A tombstone is a row of nulls. Values that are no records are the column `value`.
    """
    name = column_of(source.name, "value")
    is_record = isinstance(records.schema[name].dataType, StructType)
    values = [F.col(f"`{name}`.*") if is_record else F.col(f"`{name}`").alias("value")]
    return SourceFrames(records.select(*values, *_beside(source, records.sparkSession)), None)


def _beside(source: SourceSpec, spark: SparkSession) -> list[str | Column]:
    """What a row has beside the columns of its value."""
    own = ("key", _HEADERS) if source.include_headers else ("key",)
    taken = [name for name in own if _is_taken(name, _columns(source), spark)]
    return [*(name for name in own if name not in taken), _metadata(metadata_column(source, spark), taken)]


def _poison(poison: DataFrame, columns: Sequence[str]) -> DataFrame:
    """`key` (null) and `value`: which row of the epoch is poison, and which columns were not read."""
    unread = F.concat(*(F.col("record").getField(name).isNull().cast("int").cast("string") for name in columns))
    place = F.concat_ws(" ", F.col("seq").cast("string"), unread)
    return poison.select(F.lit(None).cast("binary").alias("key"), place.cast("binary").alias("value"))


def _columns(source: SourceSpec) -> tuple[str, ...]:
    return () if source.schema_ddl is None else column_names(source.schema_ddl)


def _free(name: str, columns: Sequence[str], spark: SparkSession) -> str:
    """`name`, with underscores before it until no column is called so."""
    while _is_taken(name, columns, spark):
        name = f"_{name}"
    return name


def _is_taken(name: str, columns: Sequence[str], spark: SparkSession) -> bool:
    """Whether a column of that name is meant: Spark ignores case, unless it is set to mind it."""
    alike = [column for column in columns if column.lower() == name]
    return name in alike or (bool(alike) and str(spark.conf.get("spark.sql.caseSensitive")).strip().lower() != "true")
