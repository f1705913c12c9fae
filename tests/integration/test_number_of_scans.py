"""Spark asks a checkpoint for a position of each scan of the plan; a plan may have more than the one before."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, as_json, kafka_sink, raw_source, running_count, values
from tandem.checkpoint.compared import restore
from tandem.checkpoint.folders import begin_after
from tandem.checkpoint.position import EnginePosition
from tandem.manifest import SourceSpec

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

AFTER = EnginePosition(1, 10)
RECORDS = [Record(b"a", b"k"), Record(b"b", b"k")]
Plan = Callable[[DataFrame], Mapping[str, DataFrame]]


def counts(events: DataFrame) -> Mapping[str, DataFrame]:
    """One scan."""
    return {"out": running_count(events)}


def counts_and_copies(events: DataFrame) -> Mapping[str, DataFrame]:
    """Two scans."""
    return {**counts(events), "copies": events.select("key", "value")}


def begun(spark: SparkSession, folder: Path, plan: Plan, after: EnginePosition | None = None) -> Job:
    """A job on the checkpoint in `folder`, if there is one."""
    names = ["out"] if plan is counts else ["out", "copies"]
    job = Job(spark, folder, [raw_source()], [kafka_sink(name) for name in names])
    job.start(plan(job.sources["events"]), after or EnginePosition(), "update")
    return job


def stopped_behind(job: Job, epoch: int) -> None:
    job.run(epoch, RECORDS, barrier=True)
    job.stands_at(epoch)
    job.stop()


def test_a_job_with_json_and_several_sinks_begins_anywhere(spark: SparkSession, tmp_path: Path) -> None:
    source = SourceSpec(name="events", topics=("in",), format="json", schema="n INT")
    job = Job(spark, tmp_path / "job", [source], [kafka_sink("out"), kafka_sink("copies")])
    begin_after(job._checkpoint, AFTER)
    numbers = job.sources["events"].select(F.col("n").cast("string").alias("value"))
    job.start({"out": numbers, "copies": numbers}, AFTER)
    *rows, letter = sorted(values(job.run(2, [Record(as_json(n=1)), Record(b"no JSON")])))
    assert rows == ["1", "1"]
    assert json.loads(letter)["value"] == "no JSON"
    job.stop()


def test_a_state_goes_on_with_more_scans(spark: SparkSession, tmp_path: Path) -> None:
    stopped_behind(begun(spark, tmp_path / "one", counts), 0)
    position = restore([tmp_path / "one" / "checkpoint"], sys.maxsize, tmp_path / "two" / "checkpoint")
    assert position == EnginePosition(0, 0)
    second = begun(spark, tmp_path / "two", counts_and_copies, position)
    assert "4" in values(second.run(1, RECORDS))
    stopped_behind(second, 2)
    assert second.position == EnginePosition(2, 20)
