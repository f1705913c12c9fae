"""Which of Spark's output modes a job runs in, and that it may name it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, kafka_sink, raw_source, running_count, values
from tandem.jobapi.errors import JobError
from tandem.manifest import OutputMode

pytestmark = [pytest.mark.integration]


def per_window(events: DataFrame) -> DataFrame:
    """Records in each ten seconds; a value is a second."""
    at = F.timestamp_seconds(F.col("value").cast("string").cast("long"))
    counted = (
        events.select(at.alias("at")).withWatermark("at", "1 second").groupBy(F.window("at", "10 seconds")).count()
    )
    return counted.select(F.col("count").cast("string").alias("value"))


@pytest.mark.parametrize(
    ("requested", "expected"),
    [(None, [[], [], ["3"]]), ("append", [[], [], ["3"]]), ("update", [["2"], ["3", "1"], []])],
)
def test_a_window_is_told_when_it_is_over_or_whenever_it_changes(
    job: Job, requested: OutputMode | None, expected: list[list[str]]
) -> None:
    job.start(per_window(job.sources["events"]), requested=requested)
    epochs = [[b"1", b"2"], [b"3", b"15"], []]
    told = [sorted(values(job.run(epoch, [Record(v) for v in epochs[epoch]])), reverse=True) for epoch in range(3)]
    assert told == expected


def test_a_count_without_a_watermark_is_told_whenever_it_changes(job: Job) -> None:
    job.start(running_count(job.sources["events"]))
    assert [values(job.run(epoch, [Record(b"", b"k")])) for epoch in range(2)] == [["1"], ["2"]]


def test_a_mode_that_spark_refuses_for_the_job_is_an_error_with_its_place(job: Job) -> None:
    with pytest.raises(JobError, match=r"spec\.job\.outputMode: append does not suit the job: .*watermark"):
        job.start(running_count(job.sources["events"]), requested="append")


@pytest.fixture
def sinks(spark: SparkSession, tmp_path: Path) -> Callable[..., Job]:
    """Makes a job with the sinks of the given names."""
    return lambda *names: Job(spark, tmp_path / "job", [raw_source()], [kafka_sink(name) for name in names])


@pytest.mark.parametrize("names", [("windows", "totals"), ("totals", "windows")])
def test_sinks_that_cannot_have_one_mode_are_named_in_any_order(
    sinks: Callable[..., Job], names: Sequence[str]
) -> None:
    """The first of them decided: windows were reported before they were over, or the first epoch failed for ever."""
    job = sinks(*names, "copies")
    events = job.sources["events"]
    result = {"windows": per_window(events), "totals": running_count(events), "copies": events.select("value")}
    with pytest.raises(
        JobError,
        match=r"sink totals can be in mode update only \(.*watermark.*\), and sink windows would be in mode append, .* "
        r"Give spec\.job\.outputMode: update \(windows reports every change then\), or make them two jobs",
    ):
        job.start(result)
    with pytest.raises(JobError, match=r"outputMode: append does not suit sink totals: .*watermark"):
        job.start(result, requested="append")
    job.start(result, requested="update")
    assert sorted(values(job.run(0, [Record(b"1"), Record(b"2")]))) == ["1", "2", "2", "2"]
    job.stop()


def test_sinks_without_an_aggregation_are_in_any_mode(sinks: Callable[..., Job]) -> None:
    job = sinks("copies", "totals", "firsts")
    events = job.sources["events"]
    firsts = events.dropDuplicates(["key"]).select("value")
    job.start({"copies": events.select("value"), "totals": running_count(events), "firsts": firsts})
    rows = [values(job.run(epoch, [Record(b"9", b"k")])) for epoch in range(2)]
    assert [sorted(one) for one in rows] == [["1", "9", "9"], ["2", "9"]]
    job.stop()


def test_each_aggregation_of_a_sink_is_asked_about(job: Job) -> None:
    windows, totals = per_window(job.sources["events"]), running_count(job.sources["events"]).select("value")
    job.start(windows.union(totals))
    assert sorted(values(job.run(0, [Record(b"1"), Record(b"2")]))) == ["2", "2"]


def test_an_aggregation_below_another_is_asked_about(job: Job) -> None:
    """Spark computes it in mode append only, in which the one below has to have a watermark."""
    last = job.sources["events"].groupBy("key").agg(F.max("timestamp").alias("at")).withWatermark("at", "1 second")
    windows = last.groupBy(F.window("at", "10 seconds")).count().select(F.col("count").cast("string").alias("value"))
    with pytest.raises(JobError, match=r"Spark refuses the job's plan: .*; and sink out: .*watermark"):
        job.start(windows)


def test_a_join_that_lacks_a_watermark_is_refused_with_what_mode_append_needs(
    spark: SparkSession, tmp_path: Path
) -> None:
    """In mode update Spark says of an outer join only that it needs mode append."""
    job = Job(spark, tmp_path / "job", [raw_source("left", "l"), raw_source("right", "r")], [kafka_sink()])
    right = job.sources["right"].select("key", F.col("value").alias("other"))
    with pytest.raises(JobError, match=r"Spark refuses the job's plan: .*; and in mode append: .*watermark"):
        job.start(job.sources["left"].join(right, "key", "left_outer").select("key", "value"))
    job.stop()
