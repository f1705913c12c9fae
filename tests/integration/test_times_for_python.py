"""Kafka and Spark know times that Python does not: where a job hands them to Python, such a record is a dead letter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType

from integration.engine import Job, Record, kafka_sink, raw_source, values
from tandem.engine.python_times import times_of_python

pytestmark = pytest.mark.integration

MICROSECONDS = 1_700_000_000_000_000
"""Taken for milliseconds: the year 55840."""
YEAR_3000 = 32_503_680_000_000


def _functions() -> tuple[Any, Any]:
    """Made here, so that Spark's workers need not import this module."""

    def text(value: object) -> str:
        return str(value)

    def frames(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for part in parts:
            yield part[["value"]]

    return F.udf(text, StringType()), frames


text, frames = _functions()


def doubled(events: DataFrame) -> DataFrame:
    return events.select("timestamp").union(events.select(F.col("timestamp").alias("t"))).select(text("timestamp"))


GIVES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "a UDF of the time": lambda events: events.select(text("timestamp")),
    "a UDF of the struct with it": lambda events: events.select(text("metadata")),
    "a UDF of a column made of it": lambda events: events.withColumn(
        "t", F.struct(F.col("timestamp") + F.expr("INTERVAL 1 DAY"))
    ).select(text("t")),
    "a filter by a UDF": lambda events: events.filter(text("timestamp") == "x").select("value"),
    "a union": doubled,
    "an array that is exploded": lambda events: events.select(F.explode(F.array("timestamp")).alias("t")).select(
        text("t")
    ),
    "pandas": lambda events: events.select("value", "timestamp").mapInPandas(frames, "value BINARY"),
}
KEEPS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "no Python": lambda events: events.select(F.col("timestamp").cast("string")),
    "a UDF of the value": lambda events: events.select(text("value"), "timestamp"),
    "a UDF of the time as text or number": lambda events: events.select(
        text(F.col("timestamp").cast("string")), text(F.col("metadata.offset")), text(F.year("timestamp"))
    ),
    "a UDF of a time in the value": lambda events: events.select(
        text(F.col("value").cast("string").cast("timestamp")), text("metadata.epoch_time")
    ),
    "pandas without the time": lambda events: events.select("value").mapInPandas(frames, "value BINARY"),
}


def test_a_plan_shows_whether_python_gets_the_time_of_a_record(spark: SparkSession, tmp_path: Path) -> None:
    events = Job(spark, tmp_path / "plans", [raw_source()], [kafka_sink()]).sources["events"]

    assert [name for name, make in GIVES.items() if times_of_python(make(events)) is None] == []
    assert [name for name, make in KEEPS.items() if times_of_python(make(events)) is not None] == []


def test_a_time_that_python_cannot_hold_makes_a_dead_letter_and_the_job_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    def run(name: str, result: Callable[[DataFrame], DataFrame]) -> list[str]:
        job = Job(spark, tmp_path / name, [raw_source()], [kafka_sink()])
        job.start(result(job.sources["events"]))
        times = (YEAR_3000, MICROSECONDS, 0)
        found = values(job.run(0, [Record(b"%d" % time, timestamp_ms=time) for time in times]))
        job.stop()
        return found

    years = F.date_format("timestamp", "y").alias("value")
    assert run("spark", lambda events: events.select(years)) == ["3000", "55840", "1970"]
    three, now, letter = run("python", lambda events: events.select(text("metadata").substr(1, 16).alias("value")))
    assert (three, now) == ("Row(topic='in', ",) * 2
    found = json.loads(letter)
    assert (found["offset"], found["timestamp"]) == (1, MICROSECONDS)
    assert found["reason"] == (
        f"its timestamp {MICROSECONDS} (Unix, ms) is outside of what a Python function of the job can hold"
    )
    now, *late = run("pandas", lambda events: events.select("value", "timestamp").mapInPandas(frames, "value BINARY"))
    assert (now, [json.loads(letter)["offset"] for letter in late]) == ("0", [0, 1])
