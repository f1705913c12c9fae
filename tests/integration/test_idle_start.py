"""A query that starts while there is no epoch yet waits for the first one, and loses nothing of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, kafka_sink, raw_source
from integration.waiting import for_a_while
from tandem.checkpoint.compared import restore
from tandem.checkpoint.folders import begin_after
from tandem.checkpoint.position import EnginePosition

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

AFTER = EnginePosition(1, 10)
RECORDS = [Record(b"a", b"k"), Record(b"b", b"k")]


@pytest.mark.parametrize("real_time", [False, True])
@pytest.mark.parametrize("written", ['"log":', '"log": '], ids=["as it is", "as an older Tandem wrote it"])
def test_a_query_without_state_that_begins_anywhere(
    spark: SparkSession, tmp_path: Path, written: str, real_time: bool
) -> None:
    """To Spark, another text of the same position is another position: it ran a batch of no records for it."""
    job = Job(spark, tmp_path / "job", [raw_source()], [kafka_sink()], real_time=real_time)
    begin_after(job._checkpoint, AFTER)
    for offsets in (job._checkpoint / "offsets").iterdir():
        offsets.write_text(offsets.read_text().replace('"log":', written))
    job.start(job.sources["events"].select("key", "value"), AFTER)
    for_a_while(1.0, "Spark asks for an epoch every 200 ms")
    assert job.run(2, RECORDS).num_rows == 2
    job.stop()


def test_a_query_that_restores_its_state(spark: SparkSession, tmp_path: Path) -> None:
    def counting(folder: Path, after: EnginePosition) -> Job:
        job = Job(spark, folder, [raw_source()], [kafka_sink()])
        counted = job.sources["events"].groupBy("key").count()
        job.start(counted.select("key", F.col("count").cast("string").alias("value")), after)
        return job

    first = counting(tmp_path / "one", EnginePosition())
    first.run(0, RECORDS)
    first.run(1, RECORDS)
    first.committed(1)
    first.stop()
    position = restore([first._checkpoint], 1, tmp_path / "two" / "checkpoint")
    second = counting(tmp_path / "two", position)
    for_a_while(1.0, "Spark asks for an epoch every 200 ms")
    assert second.run(2, RECORDS)["value"].to_pylist() == [b"6"]
    second.stop()
