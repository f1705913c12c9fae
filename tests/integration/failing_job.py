"""A job that computes epochs until one fails, and what is reported of that."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from integration.engine import (
    BEGINNING,
    EPOCH_DEADLINE_S,
    Record,
    epoch_time_us,
    fetched,
    kafka_sink,
    raw_source,
    within,
)
from tandem.checkpoint.position import EnginePosition
from tandem.engine.blame import Failed, explained
from tandem.engine.bridge import EpochBridge
from tandem.engine.output import one_stream
from tandem.engine.output_mode import output_mode
from tandem.engine.query import MicroBatchQuery
from tandem.engine.trial import Trials
from tandem.intake.batch import SCHEMA, to_batch
from tandem.jobapi.errors import JobError
from tandem.jobapi.frames import split_sources
from tandem.protocol.values import EpochRange, Offsets, TopicPartition

Plan = Callable[[DataFrame], DataFrame]
IN = TopicPartition("in", 0)


class Failing:
    """A job that computes one epoch, and then one that fails; and the same plan once more, to find out why."""

    def __init__(self, spark: SparkSession, folder: Path, plan: Plan) -> None:
        schema = from_arrow_schema(SCHEMA)
        bridge, again = EpochBridge(spark, schema, folder / "a"), EpochBridge(spark, schema, folder / "b")
        frame, second = (self._made(one, plan) for one in (bridge, again))
        self._checkpoint = folder / "checkpoint"
        mode = output_mode(frame, {"out": frame})
        self._trials = Trials(MicroBatchQuery(again, second, mode), folder)
        self._query = MicroBatchQuery(bridge, frame, mode)
        self._query.begin(self._checkpoint, BEGINNING)

    def _made(self, bridge: EpochBridge, plan: Plan) -> DataFrame:
        frames = split_sources(bridge.stream(), [raw_source()])
        return one_stream(plan(frames["events"].good), [kafka_sink()])

    def run(self, epoch: int, records: Sequence[Record]) -> StreamingQueryException | None:
        """Compute an epoch; what it fails with."""
        position, time_ms = EnginePosition(epoch, epoch), epoch_time_us(epoch) // 1_000
        try:
            self._query.compute(position, to_batch(fetched(epoch, records)), time_ms, within(EPOCH_DEADLINE_S))
        except StreamingQueryException as error:
            return error
        self._query.commit()
        return None

    def committed(self, epoch: int) -> None:
        """Wait until Spark has committed it."""
        deadline = time.monotonic() + EPOCH_DEADLINE_S
        while not (self._checkpoint / "commits" / str(epoch)).exists():
            assert time.monotonic() < deadline

    def says(self, first: Sequence[Record], then: Sequence[Record]) -> str:
        """What is reported of the second epoch."""
        assert self.run(0, first) is None
        failed, begin = self.fails(1, then)
        report = explained(failed, begin, lambda: False, "tandem run it")
        assert isinstance(report, JobError), report
        return str(report)

    def fails(self, epoch: int, records: Sequence[Record]) -> tuple[Failed, Callable[[Callable[[], str]], Any]]:
        """An epoch that fails, and what begins trials of it."""
        error = self.run(epoch, records)
        assert error is not None
        cut = EpochRange(epoch, Offsets({IN: 0}), Offsets({IN: len(records)}), epoch_time_us(epoch) // 1_000, 1, 1)
        failed = Failed(cut, to_batch(fetched(epoch, records)), error)

        def begin(over: Callable[[], str]) -> Any:
            return self._trials.of(self._checkpoint, failed.position, failed.batch, cut.time_ms, over)

        return failed, begin
