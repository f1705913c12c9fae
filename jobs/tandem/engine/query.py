"""One streaming query over a job's plan, which is given epochs and gives their rows; and its micro-batch kind."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tandem.checkpoint.folders import find_newest, take_back
from tandem.checkpoint.position import EnginePosition
from tandem.engine.bridge import EpochBridge
from tandem.engine.memory import jvm_exit_code

GiveUp = Callable[[], str]
"""Asked several times a second: why an epoch is waited for no longer; "": it is."""


class GivenUpError(Exception):
    """An epoch is waited for no longer; the text says why."""


class EpochQuery(Protocol):
    """What drives a query, whichever engine runs it. Not thread-safe, but for `failure` and `stop`."""

    frame: DataFrame
    """The plan."""
    streaming: StreamingQuery | None
    """Spark's own object, while the query runs and after."""
    late_rows: int
    """How many came too late for a watermark in the epoch that was taken last."""

    def begin(self, checkpoint: Path, after: EnginePosition) -> None:
        """Start the query on a checkpoint that stands at `after`. Raises what `launch` raises."""
        self.stand_at(after)
        self.launch(checkpoint)

    def stand_at(self, after: EnginePosition) -> None:
        """Forget an earlier query: from now on epochs after `after` may be offered, also while `launch` is under way."""

    def launch(self, checkpoint: Path) -> None:
        """Start the query after `stand_at`. Raises `JobError`, `PySparkException`."""

    def begin_again(self, checkpoint: Path, epoch: int) -> EnginePosition:
        """A new query on the newest state before `epoch`, at which the last one failed, as if that had not been tried.

        Returns where that state stands: epochs between that and `epoch` have to be computed again.
        """

    def compute(
        self, position: EnginePosition, batch: pa.RecordBatch, time_ms: int, give_up: GiveUp, barrier: bool = False
    ) -> pa.Table:
        """`offer` an epoch and `take` its rows."""
        self.offer(position, batch, time_ms, give_up, barrier)
        return self.take(position, give_up)

    def offer(
        self, position: EnginePosition, batch: pa.RecordBatch, time_ms: int, give_up: GiveUp, barrier: bool = False
    ) -> None:
        """Give an epoch's records to Spark, and its time (Unix, ms). Behind a `barrier` the state is committed.

        Raises `GivenUpError`, and what the query failed with.
        """

    def take(self, position: EnginePosition, give_up: GiveUp) -> pa.Table:
        """The rows of the oldest epoch that was not taken yet (no columns if there are none). Raises as `offer`."""

    def commit(self) -> None:
        """The rows of the epoch taken last were taken over."""

    def rest(self, give_up: GiveUp) -> None:
        """Called several times a second while no epoch comes, after what was offered was taken and committed.

        What came last is kept, as behind a barrier. Raises as `offer`.
        """

    def failure(self) -> BaseException | None:
        """What ended the query; None while it runs, or starts."""

    def stop(self) -> None:
        """Stop the query, if its JVM is still there."""


class MicroBatchQuery(EpochQuery):
    """Every epoch is one micro-batch, whose number is the epoch's: each is a barrier.

    `bridge`, `frame`, `output_mode` : the query's source and sink, its plan, and Spark's output mode.
    """

    def __init__(self, bridge: EpochBridge, frame: DataFrame, output_mode: str) -> None:
        self.frame = frame
        self._bridge = bridge
        self._output_mode = output_mode
        self._after = EnginePosition()
        self._ahead = 0  # of epochs before batches: 0 but on state of the real-time engine
        self.streaming: StreamingQuery | None = None
        """Spark's own object, while it runs and after."""
        self.late_rows = 0
        """How many came too late for a watermark in the epoch that was taken last."""

    def stand_at(self, after: EnginePosition) -> None:
        """Forget an earlier query: from now on epochs after `after` may be offered, also while `launch` is under way."""
        self.streaming, self._after = None, after
        self._bridge.stand_at(after)

    def launch(self, checkpoint: Path) -> None:
        """Start the query after `stand_at`. Raises `JobError`, `PySparkException`."""
        newest, epoch = find_newest([checkpoint], self._after.epoch), self._after.epoch
        self._ahead = epoch - newest.batch if newest is not None and newest.position.epoch == epoch else 0
        self.streaming = self._bridge.launch(self.frame, checkpoint, self._output_mode)

    def begin_again(self, checkpoint: Path, epoch: int) -> EnginePosition:
        """A new query on the newest state before `epoch`, at which the last one failed, as if that had not been tried.

        Returns where that state stands: epochs between that and `epoch` have to be computed again.
        """
        self._bridge.unload_state()
        before = take_back(checkpoint, epoch - 1)
        self.begin(checkpoint, before)
        return before

    def offer(
        self,
        position: EnginePosition,
        batch: pa.RecordBatch,
        time_ms: int,
        give_up: GiveUp,
        barrier: bool = False,  # noqa: ARG002 - every epoch is a batch here
    ) -> None:
        """Give an epoch's records to Spark, and its time (Unix, ms). It takes them when it has committed the last epoch.

        `barrier` : whether state is committed behind this epoch. Raises `GivenUpError`, and what the query failed with.
        """
        self._bridge.write(batch)
        while not self._bridge.offer(position, time_ms):
            self._check(give_up)

    def take(self, position: EnginePosition, give_up: GiveUp) -> pa.Table:
        """The rows of the epoch offered last (no columns if there are none). Raises as `offer`."""
        while (taken := self._bridge.take()) is None:
            self._check(give_up)
        epoch, rows, self.late_rows = taken
        if epoch + self._ahead != position.epoch:
            raise RuntimeError(
                f"Spark ran epoch {position.epoch} as batch {epoch}: the checkpoint is not at epoch {position.epoch - 1}"
            )
        return rows

    def commit(self) -> None:
        """The rows were taken over: Spark may commit the epoch."""
        self._bridge.acknowledge()

    def rest(self, give_up: GiveUp) -> None:
        """Every epoch is kept as it comes."""

    def failure(self) -> BaseException | None:
        """What ended the query; None while it runs, or starts."""
        query = self.streaming
        if query is None or query.isActive:
            return None
        return query.exception() or RuntimeError("the query has stopped")

    def stop(self) -> None:
        """Stop the query, if its JVM is still there."""
        if self.streaming is not None and jvm_exit_code() is None and self.streaming.isActive:
            self.streaming.stop()

    def _check(self, give_up: GiveUp) -> None:
        if why := give_up():
            raise GivenUpError(why)
        if (error := self.failure()) is not None:
            raise error
