"""A query of the real-time engine begins after any epoch, commits while nothing comes, and ends when and as it should."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812

from integration.engine import Job, Record, kafka_sink, raw_source, running_count, values
from tandem.checkpoint.position import EnginePosition
from tandem.engine.session import LASTING_TASKS

pytestmark = pytest.mark.integration

STOPPED_S = 20.0
"""Much less than an epoch may take, and more than a busy machine needs."""
SLOTS = LASTING_TASKS
"""Of the session, as a replica of a job with `engine: realTime` has it."""


@pytest.fixture
def real_time(spark: SparkSession, folders: Iterator[Path]) -> Iterator[Job]:
    job = Job(spark, next(folders), [raw_source("raw", "in")], [kafka_sink()], real_time=True)
    yield job
    job.stop()


def test_a_count_tells_of_every_row(real_time: Job) -> None:
    real_time.start(running_count(real_time.sources["raw"]))
    assert values(real_time.run(0, [Record(b"", b"a"), Record(b"", b"b"), Record(b"", b"a")])) == ["1", "1", "2"]
    assert values(real_time.run(1, [Record(b"", b"a")], barrier=True)) == ["3"]
    assert values(real_time.run(2, [Record(b"", b"a"), Record(b"", b"b")])) == ["4", "2"]


def test_what_came_last_is_committed_while_nothing_comes(real_time: Job) -> None:
    counted, one = running_count(real_time.sources["raw"]), [Record(b"", b"a")]
    real_time.start(counted)
    for epoch in range(2):
        real_time.run(epoch, one)
    real_time.rest()
    real_time.committed(0)
    assert real_time.position == EnginePosition(1, 10)
    real_time.rest()
    assert values(real_time.run(2, one)) == ["3"]
    real_time.rest()
    real_time.committed(1)
    real_time.stop()
    assert real_time.position == EnginePosition(2, 20)
    real_time.start(counted, EnginePosition(2, 20))
    assert values(real_time.run(3, one)) == ["4"]


def test_where_a_query_without_state_stands_is_written_down_while_nothing_comes(real_time: Job) -> None:
    real_time.start(real_time.sources["raw"].select("value"))
    for epoch in range(2):
        real_time.run(epoch, [Record(b"x")])
    real_time.rest()
    assert real_time.position == EnginePosition(1, 10)


def test_a_query_without_state_begins_after_any_epoch(real_time: Job) -> None:
    real_time.start(real_time.sources["raw"].select("value"), EnginePosition(41, 410))
    assert values(real_time.run(42, [Record(b"x")])) == ["x"]


def test_an_epoch_of_any_size_passes(real_time: Job) -> None:
    """More than a socket's buffers hold, either way."""
    real_time.start(real_time.sources["raw"].select("value"))
    many = [Record(bytes([65 + number % 26]) * 2_000) for number in range(5_000)]
    for epoch in range(3):
        assert real_time.run(epoch, many)["value"].to_pylist() == [record.value for record in many]


def test_what_a_task_fails_with_ends_the_query(real_time: Job) -> None:
    number = F.col("value").cast("string").cast("int")
    real_time.start(real_time.sources["raw"].select(number.cast("string").alias("value")))
    assert values(real_time.run(0, [Record(b"1")])) == ["1"]
    began = time.monotonic()
    with pytest.raises(StreamingQueryException, match="CAST_INVALID_INPUT"):
        real_time.run(1, [Record(b"2"), Record(b"no number")])
    assert time.monotonic() - began < STOPPED_S


def test_a_plan_that_sorts_or_shuffles_between_scans_fails_and_does_not_wait(real_time: Job) -> None:
    raw = real_time.sources["raw"]
    both = raw.union(raw).dropDuplicates(["key"]).select("key", "value")
    real_time.start(both)
    with pytest.raises(Exception, match=r"shuffle|slot|two scans"):
        real_time.run(0, [Record(b"x", b"k")])


@pytest.mark.parametrize("epochs", [0, 1])
def test_a_query_stops_at_once_whatever_it_waits_for(spark: SparkSession, real_time: Job, epochs: int) -> None:
    real_time.start(real_time.sources["raw"].select("value"))
    for epoch in range(epochs):
        real_time.run(epoch, [Record(b"x")])
    began = time.monotonic()
    real_time.stop()
    assert time.monotonic() - began < STOPPED_S
    assert not spark.streams.active
    _no_threads(spark)


def test_a_query_that_nobody_reads_from_can_be_stopped(spark: SparkSession, real_time: Job) -> None:
    """Its task waits in the middle of an epoch for room in the channel."""
    real_time.start(real_time.sources["raw"].select("value"))
    real_time.offer(0, [Record(b"x" * 1_000_000) for _ in range(20)])
    began = time.monotonic()
    stopping = threading.Thread(target=real_time.stop)
    stopping.start()
    stopping.join(20)
    assert not stopping.is_alive()
    assert time.monotonic() - began < 20
    assert not spark.streams.active


def _no_threads(spark: SparkSession) -> None:
    """No thread of a feed is left."""
    deadline = time.monotonic() + 10
    jvm: Any = spark._jvm
    while any(t.getName().startswith("feed-") for t in jvm.Thread.getAllStackTraces().keySet()):
        assert time.monotonic() < deadline, "a thread of a feed is left"
