"""A setting that Spark notes with the state has no effect on a query that goes on from it: another value is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.engine import BEGINNING, Job, Record, kafka_sink, raw_source, running_count, values
from tandem.checkpoint.compared import restore
from tandem.checkpoint.position import EnginePosition
from tandem.jobapi.errors import JobError

pytestmark = [pytest.mark.integration]

POLICY = "spark.sql.streaming.multipleWatermarkPolicy"


@pytest.mark.parametrize("real_time", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_a_setting_of_the_state_stays_as_it_was(spark: SparkSession, tmp_path: Path, real_time: bool) -> None:
    def counting(folder: str, after: EnginePosition = BEGINNING) -> Job:
        job = Job(spark, tmp_path / folder, [raw_source()], [kafka_sink()], real_time=real_time)
        job.start(running_count(job.sources["events"]), after)
        return job

    first = counting("one")
    first.run(0, [Record(b"", b"k")], barrier=True)
    first.stands_at(0)
    first.stop()
    position = restore([tmp_path / "one" / "checkpoint"], 0, tmp_path / "two" / "checkpoint")
    spark.conf.set(POLICY, "max")
    try:
        with pytest.raises(JobError, match=f"begun with {POLICY}: min, .* Set it back to min; or give"):
            counting("two", position)
    finally:
        spark.conf.unset(POLICY)
    again = counting("two", position)
    assert values(again.run(1, [Record(b"", b"k")])) == ["2"]
    again.stop()


def test_a_setting_that_is_no_longer_set_stays_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    def counting(folder: str, after: EnginePosition = BEGINNING) -> Job:
        job = Job(spark, tmp_path / folder, [raw_source()], [kafka_sink()])
        job.start(running_count(job.sources["events"]), after)
        return job

    spark.conf.set(POLICY, "max")
    try:
        first = counting("one")
        first.run(0, [Record(b"", b"k")])
        first.stands_at(0)
        first.stop()
    finally:
        spark.conf.unset(POLICY)
    position = restore([tmp_path / "one" / "checkpoint"], 0, tmp_path / "two" / "checkpoint")
    with pytest.raises(JobError, match=f"begun with {POLICY}: max, .* Spark's default, min, .* Set it to max in"):
        counting("two", position)
