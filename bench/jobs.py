"""The workloads, as ordinary PySpark: the same functions run in Tandem and, but for the causal ones, in plain Spark."""

from typing import Any

from pyspark.sql import Column, DataFrame
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


def timed(events: DataFrame, ctx: Any) -> DataFrame:
    """Every record as it is, if its epoch has a time and its row a random number: both come with the cut."""
    return events.select("key", _if((ctx.rng() >= 0) & ctx.epoch_time().isNotNull()))


def asked(events: DataFrame, ctx: Any) -> DataFrame:
    """Every record as it is, if somebody answered for it: at once, so that recording the answers is all that it costs."""
    answer = ctx.ask("outside", lambda records: ["1"] * len(records), batch=1_000)
    return events.select("key", _if(answer == "1"))


def _if(condition: Column) -> Column:
    return F.when(condition, F.col("value")).alias("value")


def latest(events: DataFrame) -> DataFrame:
    """The largest value of each key: a state as large as all keys with one value each."""
    kept = events.groupBy("key").agg(F.count("*").alias("number"), F.max("value").alias("value"))
    told: DataFrame = kept.select("key", F.concat_ws(" ", "number", F.length("value")).cast("binary").alias("value"))
    return told
