"""Jobs that `test_testing` tests, as a user's tests would; some of them do what replicas do not agree on."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from tandem import JobContext

WORDS = {"alpha", "beta", "gamma", "delta", "epsilon"}


def counted(orders: DataFrame) -> DataFrame:
    """State: orders of each customer so far."""
    counts = orders.groupBy("customer").count()
    return counts.select(F.col("customer").alias("key"), F.to_json(F.struct("*")).alias("value"))


def scored(payments: DataFrame, ctx: JobContext) -> DataFrame:
    """What the log knows of each payment."""
    score = ctx.ask("score", list)
    limit = ctx.determinant("limit", int, "INT")
    row = F.struct(
        "id",
        score.alias("score"),
        limit.alias("limit"),
        F.unix_millis(ctx.epoch_time()).alias("time"),
        ctx.rng().alias("drawn"),
        F.lit(ctx.options["mark"]).alias("mark"),
    )
    return payments.select("key", F.to_json(row).alias("value"))


def copied(payments: DataFrame) -> DataFrame:
    """One row of each record, which the plan shows."""
    return payments.select("key", F.to_json(F.struct("id")).alias("value"))


def upper(payments: DataFrame) -> DataFrame:
    """Each row is made of one record."""
    return payments.where("id > 0").selectExpr("key", "upper(string(id)) AS value")


def drawn(payments: DataFrame, ctx: JobContext) -> DataFrame:
    """Each row follows from the epoch's seed."""
    return payments.select(ctx.rng().cast("string").alias("value"))


def in_the_order_of_a_set(events: DataFrame) -> DataFrame:
    """Its plan follows the hash seed."""
    return events.select(F.lit(",".join(WORDS)).alias("value"))


@F.udf(T.StringType())
def _hashed(text: str) -> str:
    return str(hash(text))


def hashing(events: DataFrame) -> DataFrame:
    """Its function follows the hash seed."""
    return events.select(_hashed(F.col("value").cast("string")).alias("value"))


def of_batches(events: DataFrame) -> DataFrame:
    """A row for each batch of Spark's, so the cuts decide."""

    def sizes(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        yield pd.DataFrame({"value": [str(sum(len(frame) for frame in frames))]})

    return events.select("value").mapInPandas(sizes, "value STRING")


def split(events: DataFrame) -> dict[str, DataFrame]:
    """Two sinks."""
    text = events.select("key", F.col("value").cast("string"))
    return {"short": text.where("length(value) < 3"), "long": text.where("length(value) >= 3")}
