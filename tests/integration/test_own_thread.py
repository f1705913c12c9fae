"""A micro-batch that needs no shuffle is computed in the query's own thread, of a plan that was optimised once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, epoch_time_us, kafka_sink, raw_source, running_count, values
from tandem.checkpoint.position import EnginePosition
from tandem.engine.planned import how_joined
from tandem.waiting import Deadline, wait_until

pytestmark = pytest.mark.integration

STOPPED_S = 20.0


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Iterator[Job]:
    made = Job(spark, tmp_path / "job", [raw_source()], [kafka_sink()])
    yield made
    made.stop()


def jobs_so_far(spark: SparkSession) -> int:
    """How many jobs Spark's scheduler was given."""
    count: int = spark._jsc.sc().dagScheduler().numTotalJobs()
    return count


def test_epochs_are_no_jobs_of_sparks_scheduler(spark: SparkSession, job: Job) -> None:
    job.start(running_count(job.sources["events"]))
    job.run(0, [Record(b"", b"k")])
    before = jobs_so_far(spark)
    assert values(job.run(1, [Record(b"", b"k")] * 2)) == ["3"]
    assert values(job.run(2, [])) == []
    assert jobs_so_far(spark) == before


def test_what_a_job_observes_is_counted(job: Job) -> None:
    """By Spark's scheduler, through which alone it reaches the driver."""
    events = job.sources["events"].observe("events", F.count("*").alias("n"))
    job.start(running_count(events))
    for epoch in range(2):
        assert values(job.run(epoch, [Record(b"", b"k")] * 2)) == [str(2 * epoch + 2)]
        assert job.observed == {"events": "[2]"}


def test_accumulators_count_what_functions_add_in_each_epoch(spark: SparkSession, job: Job) -> None:
    seen, kept = spark.sparkContext.accumulator(0), spark.sparkContext._javaAccumulator

    @F.udf("string")
    def counted(value: bytearray) -> str:
        seen.add(1)
        return bytes(value).decode()

    @F.udf("string")
    def failing(value: bytearray) -> str:
        seen.add(100)
        return bytes(value).decode("ascii")

    job.start(job.sources["events"].select(counted("value").alias("value")))
    for epoch in range(3):
        assert values(job.run(epoch, [Record(b"a"), Record(b"b")])) == ["a", "b"]
        assert seen.value == 2 * epoch + 2
        assert kept.isZero(), "nothing is left in the JVM"
    job.stop()

    job.start(job.sources["events"].select(failing("value").alias("value")), EnginePosition(2, 20))
    with pytest.raises(StreamingQueryException):
        job.run(3, [Record(b"a"), Record("ä".encode())])
    assert (seen.value, kept.isZero()) == (6, True)


def test_epochs_with_a_shuffle_are(spark: SparkSession, job: Job) -> None:
    job.start(job.sources["events"].select("key", "value").repartition(3))
    before = jobs_so_far(spark)
    for epoch in range(2):
        assert sorted(values(job.run(epoch, [Record(b"1"), Record(b"2")]))) == ["1", "2"]
    assert jobs_so_far(spark) >= before + 2


def test_the_partitions_of_a_union_keep_their_order(job: Job) -> None:
    events = job.sources["events"]
    twice = events.select("key", F.concat(F.lit("again "), F.col("value").cast("string")).alias("value"))
    job.start(events.select("key", F.col("value").cast("string")).union(twice))
    assert values(job.run(0, [Record(b"1"), Record(b"2")])) == ["1", "2", "again 1", "again 2"]


def test_the_plan_that_spark_is_given_for_an_epoch_is_one_leaf(job: Job) -> None:
    job.start(running_count(job.sources["events"]))
    assert values(job.run(0, [Record(b"", b"k")])) == ["1"]
    assert [node.split()[0] for node in job.last_query] == ["WriteToMicroBatchDataSourceV1", "LogicalRDD"]
    assert any(node.startswith("StateStoreSave") for node in job.last_plan)


def test_a_plan_that_asks_for_the_time_gets_each_epochs_own(job: Job) -> None:
    now = F.unix_micros(F.current_timestamp()).cast("string")
    job.start(job.sources["events"].select("key", now.alias("value")))
    for epoch in range(2):
        assert values(job.run(epoch, [Record(b"")])) == [str(epoch_time_us(epoch))]
    assert len(job.last_query) > 2


def test_rows_that_a_filter_drops_are_not_scanned(job: Job) -> None:
    job.start(job.sources["events"].filter("key = 'yes'").select("key", F.col("value").cast("string")))
    assert values(job.run(0, [Record(b"1", b"yes"), Record(b"2", b"no"), Record(b"3", None)])) == ["1"]
    assert not [node for node in job.last_plan if node.startswith("Filter")]


def test_a_filter_by_a_tables_value_is_asked_for_each_epoch(spark: SparkSession, job: Job) -> None:
    limit = spark.createDataFrame([(2,), (1,)], "n INT")
    limit.createOrReplaceTempView("limits")
    number = job.sources["events"].select("key", F.col("value").cast("string").cast("int").alias("n"))
    kept = number.filter("n > (SELECT max(n) FROM limits)")
    job.start(kept.select("key", F.col("n").cast("string").alias("value")))
    for epoch in range(2):
        assert values(job.run(epoch, [Record(b"1"), Record(b"2"), Record(b"3")])) == ["3"]


def test_a_table_is_joined_the_same_way_however_many_records_come(spark: SparkSession, job: Job) -> None:
    names = spark.range(50).selectExpr("concat('k', id) AS k", "concat('name ', id) AS name")
    events = job.sources["events"].withColumn("k", F.col("key").cast("string"))
    job.start(events.join(names, "k").select("key", F.col("name").alias("value")))
    records = [Record(b"", f"k{n}".encode()) for n in (7, 3, 9)]
    few = values(job.run(0, records))
    many = values(job.run(1, records + [Record(b"", b"k1")] * 2_000))
    assert few == ["name 7", "name 3", "name 9"]
    assert [name for name in many if name != "name 1"] == few


def numbered(spark: SparkSession, rows: int) -> DataFrame:
    return spark.range(rows).selectExpr("concat('k', id) AS k", "concat('name ', id) AS name")


def given(spark: SparkSession, rows: int) -> DataFrame:
    return spark.createDataFrame([(f"k{n}", f"name {n}") for n in range(rows)], "k STRING, name STRING")


@pytest.mark.parametrize(
    ("table", "rows", "way"),
    [
        (numbered, 50, "BroadcastHashJoin"),
        (numbered, 20_000, "BroadcastHashJoin"),
        (numbered, 1_000_000, "SortMergeJoin"),
        (given, 9, "BroadcastHashJoin"),
    ],
)
def test_records_of_a_key_keep_their_order_in_a_join_with_a_table_of_any_size(
    spark: SparkSession, job: Job, table: Callable[[SparkSession, int], DataFrame], rows: int, way: str
) -> None:
    names = table(spark, rows)
    events = job.sources["events"].selectExpr("CAST(key AS STRING) AS k", "CAST(value AS STRING) AS number")
    job.start(events.join(names, "k").select(F.col("k").alias("key"), F.col("number").alias("value")))
    numbers = range(9)
    published = values(job.run(0, [Record(str(number).encode(), f"k{number % 3}".encode()) for number in numbers]))
    for key in range(3):
        assert [n for n in published if int(n) % 3 == key] == [str(n) for n in numbers if n % 3 == key]
    assert any(node.startswith(way) for node in job.last_plan), job.last_plan


def test_only_a_table_that_is_joined_makes_a_job_another_one_than_in_earlier_versions(
    spark: SparkSession, job: Job
) -> None:
    events = job.sources["events"].select("key")
    assert how_joined(events.join(spark.range(3), F.col("key").cast("string") == F.col("id").cast("string")))
    assert not how_joined(events.alias("a").join(events.alias("b"), F.expr("a.key = b.key")))


def stopped_within(job: Job, seconds: float) -> bool:
    """Whether a stop returns in time."""
    stopping = Thread(target=job.stop, daemon=True)
    stopping.start()
    stopping.join(seconds)
    return not stopping.is_alive()


def computing(job: Job, frame: DataFrame, is_under_way: Callable[[], bool]) -> Thread:
    """A thread that computes an epoch which does not end soon; once that is under way."""
    job.start(frame)
    job.run(0, [])

    def compute() -> None:
        with suppress(StreamingQueryException, RuntimeError):
            job.run(1, [Record(b"")])

    thread = Thread(target=compute, daemon=True)
    thread.start()
    assert wait_until(is_under_way, Deadline(STOPPED_S), 0.05)
    assert thread.is_alive()
    return thread


def explodes(spark: SparkSession) -> bool:
    """Whether the thread of epochs is in the operator that makes many rows of one."""
    stacks = spark._jvm.java.lang.Thread.getAllStackTraces()  # type: ignore[union-attr]
    frames = (frame for thread in stacks.keySet() if thread.getName() == "epoch" for frame in stacks.get(thread))
    return any("GenerateExec" in frame.getClassName() for frame in frames)


def test_an_epoch_that_spark_computes_for_long_can_be_stopped(spark: SparkSession, job: Job) -> None:
    """For a minute or so, not without end: the stop leaves its thread behind, beside all tests that come after it."""
    frame = job.sources["events"].select("key", F.lit(0).alias("n"))
    for count in (1_000, 1_000, 50):
        numbers = F.explode(F.sequence(F.lit(1), F.lit(count))).alias("n")
        frame = frame.select("key", F.col("n").alias("m"), numbers).select("key", (F.col("n") + F.col("m")).alias("n"))
    computing(
        job, frame.filter("n < 0").select("key", F.col("n").cast("string").alias("value")), lambda: explodes(spark)
    )
    assert stopped_within(job, STOPPED_S)


def test_an_epoch_that_waits_in_python_can_be_stopped(job: Job, tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    @F.udf("string")
    def waits(_: bytes) -> str:
        begun.touch()
        time.sleep(3_600)
        return ""

    computing(job, job.sources["events"].select("key", waits("value").alias("value")), begun.exists)
    assert stopped_within(job, STOPPED_S)
