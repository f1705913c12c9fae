"""The workloads, as ordinary PySpark: the same functions run in Tandem and in plain Spark."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

STATEFUL = ("count", "latest")


def identity(events: DataFrame) -> DataFrame:
    """Every record as it is."""
    return events.select("key", "value")


def count(events: DataFrame) -> DataFrame:
    """Records per key so far, with the newest time of creation that contributed: one row per changed key and epoch."""
    created = F.substring(F.col("value").cast("string"), 14, 19).cast("long")
    grouped = events.select("key", created.alias("created")).groupBy("key")
    counts: DataFrame = grouped.agg(F.count("*").alias("number"), F.max("created").alias("created"))
    return counts.select("key", F.concat_ws(" ", "number", "created").cast("binary").alias("value"))


def latest(events: DataFrame) -> DataFrame:
    """The largest value of each key: a state as large as all keys with one value each."""
    kept = events.groupBy("key").agg(F.count("*").alias("number"), F.max("value").alias("value"))
    told: DataFrame = kept.select("key", F.concat_ws(" ", "number", F.length("value")).cast("binary").alias("value"))
    return told
