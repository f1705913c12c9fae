"""What makes an epoch cheap changes no result: needless shuffles, columns and settings are left out, needed ones stay."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, running_count, values

pytestmark = pytest.mark.integration


def shuffles(job: Job) -> int:
    return sum(node.startswith("Exchange") for node in job.last_plan)


def test_an_aggregation_needs_no_shuffle_even_if_an_epoch_has_no_rows(job: Job) -> None:
    job.start(running_count(job.sources["events"]))

    assert values(job.run(0, [Record(b"", b"a"), Record(b"", b"a")])) == ["2"]
    assert shuffles(job) == 0
    assert values(job.run(1, [])) == []
    assert shuffles(job) == 0
    assert values(job.run(2, [Record(b"", b"a"), Record(b"", b"b")])) == ["3", "1"]


def test_a_join_of_two_streams_needs_none(job: Job) -> None:
    events = (
        job.sources["events"]
        .withColumn("at", F.timestamp_seconds(F.col("offset") + 1_000))
        .withWatermark("at", "1 minute")
    )
    one, other = (events.filter(F.col("value") == name).select("key", "at", "value") for name in ("one", "other"))
    both = one.alias("o").join(other.alias("t"), F.expr("o.key = t.key AND o.at <= t.at + INTERVAL 1 MINUTE"))
    job.start(both.select("o.key", F.concat("o.value", "t.value").alias("value")))

    assert values(job.run(0, [Record(b"one", b"a"), Record(b"one", b"b")])) == []
    assert values(job.run(1, [Record(b"other", b"b")])) == ["oneother"]
    assert shuffles(job) == 0


def test_where_several_partitions_come_together_the_shuffle_stays(job: Job) -> None:
    events = job.sources["events"]
    job.start(running_count(events.select("key").union(events.filter("value = 'twice'").select("key"))))

    assert values(job.run(0, [Record(b"once", b"a"), Record(b"twice", b"b")])) == ["1", "2"]
    assert shuffles(job) == 1


def test_what_a_user_divides_stays_divided(job: Job) -> None:
    job.start(job.sources["events"].select("key", "value").repartition(3))

    assert sorted(values(job.run(0, [Record(b"1"), Record(b"2")]))) == ["1", "2"]
    assert shuffles(job) == 1


def test_columns_that_nobody_reads_are_not_made(job: Job) -> None:
    # With the time in it, Spark optimises the plan for every epoch.
    job.start(job.sources["events"].select("key", F.current_date().cast("string").alias("value")))
    job.run(0, [Record(b"1")])
    assert len(job.last_query) > 2
    assert not [node for node in job.last_query if "struct" in node]


def test_columns_that_somebody_reads_are(job: Job) -> None:
    job.start(job.sources["events"].select("key", F.col("metadata.seq").cast("string").alias("value")))
    assert values(job.run(0, [Record(b""), Record(b"")])) == ["0", "1"]


def test_hadoop_keeps_all_but_the_defaults_of_yarn_and_mapreduce(spark: SparkSession) -> None:
    spark.range(3).groupBy("id").count().collect()
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # type: ignore[union-attr]
    assert hadoop.get("yarn.resourcemanager.address") is None
    assert hadoop.get("mapreduce.job.maps") is None
    assert hadoop.get("fs.s3a.threads.max") is not None

    hadoop.set("mapreduce.job.maps", "7")
    spark._jvm.tandem.LeanConfiguration(hadoop)  # type: ignore[union-attr]
    assert hadoop.get("mapreduce.job.maps") == "7"
    hadoop.unset("mapreduce.job.maps")
