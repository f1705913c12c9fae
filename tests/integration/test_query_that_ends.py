"""A query that has ended takes no epoch, and says why it ended: nobody waits for it for ever."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, kafka_sink, raw_source, values
from tandem.engine.query import GivenUpError

pytestmark = pytest.mark.integration


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Job:
    return Job(spark, tmp_path / "job", [raw_source()], [kafka_sink()])


def test_an_epoch_that_spark_could_not_commit_fails_the_next_one_instead_of_being_waited_for(
    job: Job, tmp_path: Path
) -> None:
    job.start(job.sources["events"].select("key", "value"))
    assert values(job.run(0, [Record(b"a")])) == ["a"]
    job.committed(0)
    commits = tmp_path / "job" / "checkpoint" / "commits"
    commits.rename(commits.with_name("lost"))
    commits.write_text("a file where Spark's folder was")

    assert values(job.run(1, [Record(b"b")])) == ["b"]
    with pytest.raises(StreamingQueryException):
        job.run(2, [Record(b"c")])


def test_a_query_that_was_stopped_takes_no_epoch(job: Job) -> None:
    job.start(job.sources["events"].select("key", "value"))
    job.run(0, [Record(b"a")])
    job.stop()
    with pytest.raises(RuntimeError, match="the query has stopped"):
        job.run(1, [Record(b"b")])


def test_an_epoch_is_given_up_when_its_time_is_over(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("integration.engine.EPOCH_DEADLINE_S", 2.0)
    slow = F.udf(lambda value: __import__("time").sleep(30) or value, "binary")
    job.start(job.sources["events"].select("key", slow("value").alias("value")))

    with pytest.raises(GivenUpError, match="it was not computed within 2 s"):
        job.run(0, [Record(b"a")])
