"""Which of Spark's output modes a job runs in, and that it may name it."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, running_count, values
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
