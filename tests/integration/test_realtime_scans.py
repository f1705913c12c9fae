"""In real-time mode a sink without rows, and another number of scans, change nothing of what the state goes on with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, kafka_sink, raw_source, running_count, values
from tandem.checkpoint.compared import restore
from tandem.checkpoint.position import EnginePosition
from tandem.engine.session import LASTING_TASKS

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

SLOTS = LASTING_TASKS
"""Of the session, as a replica of a job with `engine: realTime` has it."""

ONE = [Record(b"a", b"k")]
BEHIND = EnginePosition(1, 10)
Plan = Callable[[DataFrame], Mapping[str, DataFrame]]


def counts(events: DataFrame) -> Mapping[str, DataFrame]:
    """One scan."""
    return {"out": running_count(events)}


def and_nothing(events: DataFrame) -> Mapping[str, DataFrame]:
    """Two scans, of which the optimiser leaves one out."""
    return {**counts(events), "none": events.where("false").select("key", "value")}


def and_copies(events: DataFrame) -> Mapping[str, DataFrame]:
    """Two scans."""
    return {**counts(events), "copies": events.select("key", "value")}


SINKS: Mapping[Plan, tuple[str, ...]] = {counts: ("out",), and_nothing: ("out", "none"), and_copies: ("out", "copies")}


def begun(
    spark: SparkSession, folder: Path, plan: Plan, after: EnginePosition | None = None, real_time: bool = True
) -> Job:
    """A job on the checkpoint in `folder`, if there is one."""
    job = Job(spark, folder, [raw_source()], [kafka_sink(name) for name in SINKS[plan]], real_time=real_time)
    job.start(plan(job.sources["events"]), after or EnginePosition(), "update")
    return job


def stopped_behind_two(spark: SparkSession, folder: Path, plan: Plan) -> None:
    """Epoch 1 is a barrier."""
    job = begun(spark, folder, plan)
    assert "1" in values(job.run(0, ONE))
    assert "2" in values(job.run(1, ONE, barrier=True))
    job.stands_at(1)
    job.stop()


@pytest.mark.parametrize("real_time", [True, False])
def test_a_state_beside_a_sink_without_rows_goes_on_with_either_engine(
    spark: SparkSession, folders: Iterator[Path], real_time: bool
) -> None:
    earlier, later = next(folders), next(folders)
    stopped_behind_two(spark, earlier, and_nothing)
    assert restore([earlier / "checkpoint"], sys.maxsize, later / "checkpoint") == BEHIND
    job = begun(spark, later, and_nothing, BEHIND, real_time)
    assert values(job.run(2, ONE, barrier=True)) == ["3"]
    job.stands_at(2)
    job.stop()


@pytest.mark.parametrize(("before", "after"), [(counts, and_copies), (and_nothing, counts), (and_nothing, and_copies)])
def test_a_state_goes_on_with_other_scans(
    spark: SparkSession, folders: Iterator[Path], before: Plan, after: Plan
) -> None:
    earlier, later = next(folders), next(folders)
    stopped_behind_two(spark, earlier, before)
    assert restore([earlier / "checkpoint"], sys.maxsize, later / "checkpoint") == BEHIND
    job = begun(spark, later, after, BEHIND)
    assert "3" in values(job.run(2, ONE, barrier=True))
    assert "4" in values(job.run(3, ONE))
    job.stop()


def test_a_table_that_changes_where_it_is_read_stops_the_query(spark: SparkSession, folders: Iterator[Path]) -> None:
    """It is read again by each batch."""
    folder = next(folders)
    folder.mkdir()
    file = folder / "names.csv"
    file.write_text("k,one\n")
    job = Job(spark, folder / "job", [raw_source()], [kafka_sink()], real_time=True)
    events = job.sources["events"].dropDuplicates(["value"]).withColumn("_c0", F.col("key").cast("string"))
    job.start(events.join(F.broadcast(spark.read.csv(str(file))), "_c0").select(F.col("_c1").alias("value")))
    assert values(job.run(0, ONE)) == ["one"]
    file.write_text("k,another\n")
    assert values(job.run(1, [Record(b"b", b"k")], barrier=True)) == ["one"]
    with pytest.raises(StreamingQueryException, match="ChangedTableException"):
        job.run(2, [Record(b"c", b"k")])
    job.stop()


@pytest.mark.parametrize("table", ["files", "cached", "range", "rows"])
def test_state_behind_a_join_with_a_table_of_any_kind(spark: SparkSession, folders: Iterator[Path], table: str) -> None:
    folder = next(folders)
    folder.mkdir()
    file = folder / "names.csv"
    file.write_text("k,one\nj,two\n")
    names = {
        "files": lambda: spark.read.csv(str(file)),
        "cached": lambda: spark.read.csv(str(file)).cache(),
        "range": lambda: spark.range(1).selectExpr("'k' AS _c0", "'one' AS _c1"),
        "rows": lambda: spark.createDataFrame([("k", "one")], "_c0 STRING, _c1 STRING"),
    }[table]()
    job = Job(spark, folder / "job", [raw_source()], [kafka_sink()], real_time=True)
    events = job.sources["events"].selectExpr("*", "CAST(key AS STRING) AS _c0")
    job.start(running_count(events.join(F.broadcast(names), "_c0")), requested="update")
    assert values(job.run(0, ONE)) == ["1"]
    assert values(job.run(1, ONE)) == ["2"]
    job.stop()


def test_a_cached_table_is_joined_in_the_same_way_by_each_batch(spark: SparkSession, folders: Iterator[Path]) -> None:
    """It takes more memory than may be sent, which Spark knows once the first batch has filled the cache."""
    names = spark.range(100_000).selectExpr("concat('k', id) AS k", "concat(repeat('x', 200), id) AS name").cache()
    try:
        job = Job(spark, next(folders), [raw_source()], [kafka_sink()], real_time=True)
        events = job.sources["events"].dropDuplicates(["value"]).withColumn("k", F.col("key").cast("string"))
        job.start(events.join(names, "k").selectExpr("'' AS key", "CAST(length(name) AS STRING) AS value"))
        for epoch in range(4):
            found = values(job.run(epoch, [Record(str(epoch).encode(), b"k12")], barrier=epoch % 2 == 1))
            assert found == ["202"]
        job.stop()
    finally:
        names.unpersist(blocking=True)
