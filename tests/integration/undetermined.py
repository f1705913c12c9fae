"""Expressions that each replica would compute differently, and constants that are others each time a plan is built."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tandem.engine.jvm_plans import singleton


def _java_udf(events: DataFrame) -> DataFrame:
    """A UDF of the JVM that says of itself that it is not deterministic, as a library's would."""
    spark, sql = events.sparkSession, "org.apache.spark.sql"
    of_nothing = singleton(spark, "scala.None")
    kind = singleton(spark, f"{sql}.types.BinaryType").asNullable()
    function = getattr(singleton(spark, "scala.Predef"), "$conforms")()
    nobody: Any = singleton(spark, "scala.collection.immutable.Nil")
    jvm: Any = spark._jvm
    made = jvm.org.apache.spark.sql.expressions.SparkUserDefinedFunction(
        function, kind, nobody, of_nothing, of_nothing, True, False
    )
    spark._jsparkSession.udf().register("drawn", made)
    return events.selectExpr("drawn(value) AS value")


def _nearest(events: DataFrame) -> DataFrame:
    """Spark refuses the same of streams."""
    some, others = (events.sparkSession.range(3).withColumnRenamed("id", name) for name in ("some", "other"))
    near = some.nearestByJoin(others, F.abs(F.expr("some - other")), 1, mode="exact", direction="distance")
    return events.crossJoin(near).select("value")


UNDETERMINED: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    "current_timestamp": (
        lambda d: d.select(F.current_timestamp().cast("string").alias("value")),
        "current_timestamp()",
    ),
    "current_date": (lambda d: d.select(F.current_date().cast("string").alias("value")), "current_date()"),
    "now in SQL": (lambda d: d.selectExpr("string(now()) AS value"), "now()"),
    "the place in a file": (
        lambda d: d.selectExpr("string(input_file_block_start()) AS value"),
        "input_file_block_start(), of which Spark says that it may give another value each time",
    ),
    "the place in a file, in a subquery": (
        lambda d: d.where(
            F.col("offset")
            < d.sparkSession.range(3).where("id > input_file_block_length()").select(F.max("id")).scalar()
        ).select("value"),
        "input_file_block_length()",
    ),
    "a non-deterministic UDF of a library": (_java_udf, "the non-deterministic UDF"),
    "a time of day": (
        lambda d: d.selectExpr("string(cast(TIME '10:00:00' AS TIMESTAMP_NTZ)) AS value"),
        "the clock's day",
    ),
    "a join of static rows with the nearest": (_nearest, "nearestByJoin()"),
    "uuid": (lambda d: d.selectExpr("uuid() AS value"), "uuid()"),
    "rand in SQL": (lambda d: d.selectExpr("string(rand()) AS value"), "rand()"),
    "rand with a seed": (lambda d: d.select(F.rand(3).cast("string").alias("value")), "rand()"),
    "randn with a seed": (lambda d: d.select(F.randn(3).cast("string").alias("value")), "randn()"),
    "rand in an unpivot": (
        lambda d: d.unpivot(["offset"], [F.rand().alias("x"), F.lit(1.0).alias("y")], "what", "value"),
        "rand()",
    ),
    "rand in a filter": (lambda d: d.filter(F.expr("rand() > 0.5")).select("value"), "rand()"),
    "unix_timestamp": (lambda d: d.selectExpr("string(unix_timestamp()) AS value"), "current_timestamp()"),
    "a text that means a time": (
        lambda d: d.select(F.lit(" Now ").cast("timestamp").cast("string").alias("value")),
        "the time 'Now'",
    ),
    "a text that is compared with a time": (lambda d: d.where("timestamp > 'today'"), "the time 'today'"),
    "a text that becomes a day": (lambda d: d.where(F.to_date(F.lit("tomorrow UTC")) > "2024-01-01"), "'tomorrow UTC'"),
    "a text that becomes a time": (lambda d: d.where(F.to_timestamp(F.lit("now")) > F.col("timestamp")), "'now'"),
    "a constant of SQL that means a day": (lambda d: d.where("to_date(timestamp) <= DATE 'today'"), "DATE 'today'"),
    "a method of Java that draws": (
        lambda d: d.selectExpr("java_method('java.util.UUID', 'randomUUID') AS value"),
        "java.util.UUID.randomUUID()",
    ),
    "a method of Java that reads the clock": (
        lambda d: d.selectExpr("reflect('java.lang.System', 'currentTimeMillis') AS value"),
        "java.lang.System.currentTimeMillis()",
    ),
    "an encryption": (
        lambda d: d.select(F.aes_encrypt("value", F.lit("0000111122223333")).alias("value")),
        "aes_encrypt()",
    ),
    "an encryption in SQL": (
        lambda d: d.selectExpr("aes_encrypt(value, '0000111122223333', 'CBC') AS value"),
        "an initialization vector that follows from the record",
    ),
    "a sketch that forgets at random": (
        lambda d: d.groupBy().agg(F.kll_sketch_agg_bigint("offset").alias("value")),
        "a sketch of KLL",
    ),
    "sketches that are merged": (
        lambda d: d.select(F.kll_sketch_merge_bigint("value", "key").alias("value")),
        "approx_percentile()",
    ),
    "the most frequent bytes": (lambda d: d.groupBy().agg(F.mode("value").alias("value")), "mode() of BINARY"),
    "the most frequent bytes in SQL": (
        lambda d: d.selectExpr("array(value) AS v").groupBy().agg(F.expr("mode(v)[0]").alias("value")),
        "F.mode(F.hex(...))",
    ),
    "the most frequent maps": (
        lambda d: d.groupBy().agg(F.mode(F.create_map("key", "value")).alias("value")),
        "mode() of BINARY",
    ),
    "the most frequent maps of texts": (
        lambda d: d.groupBy().agg(F.mode(F.create_map(F.lit("k"), F.hex("value"))).alias("value")),
        "mode() of a MAP",
    ),
    "the account that a replica runs under": (lambda d: d.selectExpr("current_user() AS value"), "current_user()"),
    "non-deterministic UDF": (
        lambda d: d.select(F.udf(lambda value: value).asNondeterministic()("value").alias("value")),
        "the non-deterministic UDF",
    ),
}

CHANGING: dict[str, Callable[[DataFrame], DataFrame]] = {
    "rand without a seed": lambda d: d.select(F.rand().cast("string").alias("value")),
    "randn without a seed": lambda d: d.select(F.randn().cast("string").alias("value")),
    "sample without a seed": lambda d: d.sample(0.5).select("value"),
    "a time of Python's": lambda d: d.select(F.lit(datetime.now(UTC).isoformat()).alias("value")),
    "a time of Python's in an unpivot": lambda d: d.unpivot(
        ["offset"], [F.lit(datetime.now(UTC).isoformat()).alias("x"), F.lit("").alias("y")], "what", "value"
    ),
    "a uuid of Python's": lambda d: d.select(F.lit(str(uuid.uuid4())).alias("value")),
}
