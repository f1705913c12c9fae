"""Processing time is the epochs' time: timers of a stateful processor fire in the same epoch in every replica."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from integration.engine import Job, Record, epoch_time_us, kafka_sink, raw_source
from tandem.checkpoint.position import EnginePosition
from tandem.engine.plan_check import check_determined

pytestmark = pytest.mark.integration

SILENT_S = 3


def silent_keys(events: DataFrame) -> DataFrame:
    """A row for each key that was silent for three seconds of processing time."""
    # Inside a function: the class is pickled whole for Spark's workers, which cannot import a test.
    seconds = SILENT_S

    class Silence(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._handle = handle
            self._timers = handle.getValueState("timer", "at LONG")

        def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ARG002, N802, N803
            list(rows)
            earlier = self._timers.get()
            if earlier is not None:
                self._handle.deleteTimer(earlier[0])
            at = timerValues.getCurrentProcessingTimeInMs() + seconds * 1000
            self._handle.registerTimer(at)
            self._timers.update((at,))
            return iter(())

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: N802, N803
            self._timers.clear()
            now = timerValues.getCurrentProcessingTimeInMs()
            text = f"{expiredTimerInfo.getExpiryTimeInMs()} {now}"
            yield Row(key=key[0], value=text.encode())

        def close(self) -> None:
            pass

    return events.groupBy("key").transformWithState(Silence(), "key BINARY, value BINARY", "append", "ProcessingTime")


@pytest.fixture
def make_job(spark: SparkSession, tmp_path: Path) -> Iterator[Any]:
    jobs: list[Job] = []

    def make(name: str) -> Job:
        job = Job(spark, tmp_path / name, [raw_source()], [kafka_sink()])
        jobs.append(job)
        return job

    yield make
    for job in jobs:
        job.stop()


def run(job: Job, first: int, last: int) -> list[tuple[int, str, str]]:
    """Epochs `first` to `last`, a second apart: `a` comes in epoch 0, `b` in 0 and 2, nothing else ever."""
    coming = {0: [Record(b"", b"a"), Record(b"", b"b")], 2: [Record(b"", b"b")]}
    found = []
    for epoch in range(first, last + 1):
        table = job.run(epoch, coming.get(epoch, []))
        found += [(epoch, row["key"].decode(), row["value"].decode()) for row in table.to_pylist()]
    return found


def time_ms(epoch: int) -> int:
    return epoch_time_us(epoch) // 1000


def test_timers_fire_at_the_epochs_time_also_in_epochs_without_input(make_job: Any) -> None:
    job = make_job("one")
    result = silent_keys(job.sources["events"])
    check_determined(result)
    job.start(result)
    fired = [(3, "a", f"{time_ms(3)} {time_ms(3)}"), (5, "b", f"{time_ms(5)} {time_ms(5)}")]
    assert run(job, 0, 6) == fired


def test_a_replica_that_was_restarted_fires_them_in_the_same_epoch(make_job: Any) -> None:
    job = make_job("one")
    job.start(silent_keys(job.sources["events"]))
    before = run(job, 0, 1)
    job.committed(1)
    job.stop()
    job.start(silent_keys(job.sources["events"]), EnginePosition(1, 10))
    assert before + run(job, 2, 6) == [
        (3, "a", f"{time_ms(3)} {time_ms(3)}"),
        (5, "b", f"{time_ms(5)} {time_ms(5)}"),
    ]
