"""An operator behind an aggregation has a state store of its own, whether it is in the aggregation's task or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from integration.engine import Job, Record, kafka_sink, raw_source, values
from integration.tiers import variants

pytestmark = pytest.mark.integration

HOUR_MS = 3_600_000


def _counting() -> StatefulProcessor:
    """How many windows have a count. Made here, so that workers get its code."""

    class Counting(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._windows = handle.getValueState("windows", "n INT")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
            (known,) = self._windows.get() or (0,)
            now = known + len(list(rows))
            self._windows.update((now,))
            yield Row(text=f"{now} of {key[0]}")

        def close(self) -> None:
            """Nothing to release."""

    return Counting()


def _closed(windows: DataFrame) -> DataFrame:
    return windows.select("key", "count", F.window_time("window").alias("closed"))


def _named(windows: DataFrame) -> DataFrame:
    return windows.select(F.concat_ws(" of ", "count", F.col("key").cast("string")).alias("text"))


OPERATORS: Final[dict[str, tuple[Callable[[DataFrame], DataFrame], list[str]]]] = {
    "dropDuplicates": (
        lambda windows: windows.dropDuplicates(["count"]).select(F.col("count").alias("text")),
        ["1", "2"],
    ),
    "dropDuplicatesWithinWatermark": (
        lambda windows: _closed(windows).dropDuplicatesWithinWatermark(["count"]).select(F.col("count").alias("text")),
        ["1", "2"],
    ),
    "transformWithState": (
        lambda windows: windows.groupBy("count").transformWithState(_counting(), "text STRING", "append", "None"),
        ["1 of 1", "2 of 1", "2 of 2"],
    ),
    "windows": (
        lambda windows: (
            _closed(windows).groupBy("count", F.window("closed", "3 minutes")).agg(F.count("*").alias("n"))
        ).select(F.concat_ws(" of ", "n", "count").alias("text")),
        ["1 of 1", "2 of 2"],
    ),
    "limit": (lambda windows: _named(windows.limit(3)), ["1 of c", "2 of a", "2 of b"]),
    "dropDuplicates by the same keys": (
        lambda windows: _named(windows.dropDuplicates(["key", "window"])),
        ["1 of c", "1 of later", "2 of a", "2 of b"],
    ),
}
"""Behind windows that count records by key: an operator, and its rows once two windows with two records are closed and one
with one, and an hour later another one with one."""


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Iterator[Job]:
    made = Job(spark, tmp_path / "job", [raw_source()], [kafka_sink()])
    yield made
    made.stop()


@pytest.mark.parametrize("name", variants(OPERATORS, in_ci=["dropDuplicates", "transformWithState", "limit"]))
def test_an_operator_behind_an_aggregation_computes(job: Job, name: str) -> None:
    operator, expected = OPERATORS[name]
    timed = (
        job.sources["events"].select("key", F.col("metadata.timestamp").alias("at")).withWatermark("at", "10 seconds")
    )
    windows = timed.groupBy("key", F.window("at", "1 minute")).count()
    job.start(
        operator(windows).select(F.lit(None).cast("binary").alias("key"), F.col("text").cast("string").alias("value"))
    )

    found = values(job.run(0, [Record(b"", key) for key in (b"a", b"b", b"a", b"b", b"c")]))
    for epoch in range(1, 4):
        found += values(job.run(epoch, [Record(b"", b"later", timestamp_ms=epoch * HOUR_MS)]))
    assert sorted(set(found)) == expected
