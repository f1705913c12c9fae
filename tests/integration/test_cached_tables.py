"""A static table that the job's code has cached: it is kept, and joined as it would be without the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, kafka_sink, raw_source, values
from tandem.engine.planned import how_joined
from tandem.engine.pruned import states_of
from tandem.engine.session_state import forget_temporaries, temporaries_of

pytestmark = pytest.mark.integration


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Iterator[Job]:
    made = Job(spark, tmp_path / "job", [raw_source()], [kafka_sink()])
    yield made
    made.stop()


def made_here(spark: SparkSession) -> DataFrame:
    """Of a size that Spark does not know."""
    return spark.createDataFrame([("k2", "a"), ("k3", "b")], "k STRING, name STRING")


def long_names(spark: SparkSession) -> DataFrame:
    """Small by what Spark estimates, and large in memory."""
    return spark.range(100_000).selectExpr("concat('k', id) AS k", "concat(repeat('x', 200), id) AS name")


def few_names(spark: SparkSession) -> DataFrame:
    """Large by what Spark estimates, and small in memory."""
    return spark.range(1_000_000).selectExpr("concat('k', least(id, 9)) AS k", "'x' AS name")


EQUAL, ANY = "e.k = n.k", "e.k > n.k"


@pytest.mark.parametrize(
    ("table", "condition", "way"),
    [
        (long_names, EQUAL, "BroadcastHashJoin"),
        (few_names, EQUAL, "SortMergeJoin"),
        (few_names, ANY, "CartesianProduct"),
        (made_here, EQUAL, "BroadcastHashJoin"),
    ],
)
def test_a_cached_table_is_joined_the_same_way_before_and_after_the_cache_is_filled(
    spark: SparkSession, job: Job, table: Callable[[SparkSession], DataFrame], condition: str, way: str
) -> None:
    names = table(spark).cache()
    try:
        events = job.sources["events"].selectExpr("CAST(key AS STRING) AS k", "CAST(value AS STRING) AS number")
        both = events.alias("e").join(names.alias("n"), F.expr(condition))
        job.start(both.selectExpr("e.k AS key", "number AS value"))
        for epoch in range(2):
            assert values(job.run(epoch, [Record(b"3", b"k3"), Record(b"1", b"k3")]))
            assert any(node.startswith(way) for node in job.last_plan), (epoch, job.last_plan)
            assert any(node.startswith("InMemoryTableScan") for node in job.last_plan), job.last_plan
    finally:
        names.unpersist(blocking=True)


def test_a_table_that_is_made_a_view_stays_cached(spark: SparkSession) -> None:
    before = temporaries_of(spark)
    names = spark.range(3).cache()
    try:
        names.createOrReplaceTempView("names_of_a_test")
        forget_temporaries(spark, before)
        assert names.storageLevel.useMemory
        assert temporaries_of(spark) == before
    finally:
        names.unpersist(blocking=True)


def test_a_job_that_joins_a_cached_table_is_another_one_than_in_earlier_versions(spark: SparkSession, job: Job) -> None:
    names = spark.range(3).cache()
    both = job.sources["events"].select("key").join(names, F.col("key").cast("string") == F.col("id").cast("string"))
    cached = how_joined(both)
    names.unpersist(blocking=True)
    assert how_joined(both) != cached


def test_what_a_state_is_kept_by_is_known_whatever_is_cached(spark: SparkSession, job: Job) -> None:
    names = spark.range(3).selectExpr("CAST(id AS STRING) AS k", "upper(CAST(id AS STRING)) AS name")
    counted = job.sources["events"].join(names, F.col("key").cast("string") == F.col("k")).groupBy("name").count()
    plain = states_of(counted)
    assert plain
    names.cache()
    try:
        assert states_of(counted) == plain
    finally:
        names.unpersist(blocking=True)
