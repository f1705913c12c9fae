"""One query in Spark's real-time mode over a job's plan: it gets epoch after epoch, and gives their rows.

A batch of Spark's is not an epoch here: it lasts until an epoch that is a *barrier*, behind which Spark commits the state.
It also ends by `turn`, before an epoch that changes a table that the plan reads.
A query without state needs none, and its only batch lasts as long as the query.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from tandem.checkpoint.folders import take_back
from tandem.checkpoint.position import EnginePosition
from tandem.checkpoint.relocation import relocate
from tandem.checkpoint.scans import fit_scans
from tandem.engine.bridge import EpochBridge
from tandem.engine.jvm_plans import inlined
from tandem.engine.kept_state import check_state, note_state
from tandem.engine.memory import jvm_exit_code
from tandem.engine.plan_leaves import scans_of
from tandem.engine.pruned import pruned, states_of
from tandem.engine.query import EpochQuery, GivenUpError, GiveUp
from tandem.engine.realtime.channel import ChannelClosedError, Ends
from tandem.engine.realtime.feed import Feed
from tandem.engine.realtime.notes import PositionNotes
from tandem.engine.session_state import default_of, settings_of
from tandem.engine.shared_state import state_behind_watermark
from tandem.engine.state_settings import check_settings
from tandem.waiting import Deadline, wait_until

_END_S = 10.0
"""A query whose channel is closed says why soon."""


class RealTimeQuery(EpochQuery):
    """Not thread-safe, but for `failure` and `stop`.

    Parameters
    ----------
    bridge, schema : the plan reads the stream of this bridge, whose records have this schema.
    frame : the plan.
    stateful : whether it keeps state. Without, a query begins after any epoch, whatever its checkpoint holds.
    rest_s : after how long without epochs the state of the last one is committed. It may be any epoch: rows do not depend on
        it (`protocol.barriers`), and without it no savepoint would have that epoch before another one comes. Where state is
        behind a watermark, nothing is committed then: the watermark would move, and the log says where it does.
    ends : of a job with tables, which are state: called right before Spark is to end a batch. Each batch is planned
        when its first epoch is there.
    """

    def __init__(
        self,
        bridge: EpochBridge,
        schema: StructType,
        frame: DataFrame,
        stateful: bool,
        rest_s: float,
        ends: Callable[[], None] | None = None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.frame = frame
        self.streaming: StreamingQuery | None = None
        """Spark's own object, while it runs and after."""
        self.late_rows = 0
        """Of whole batches: those of one are known shortly after its end."""
        self._bridge = bridge
        self._schema = schema
        self._stateful = stateful
        self._rest_s = rest_s
        self._on_end = ends
        self._rests = stateful and not state_behind_watermark(frame)
        self._clock_s = clock_s
        self._last_s = 0.0  # when an epoch was offered
        self._uncommitted: tuple[pa.RecordBatch, int] | None = None
        """Of the last epoch in the batch, if that has any: a batch of its schema without records, and its time in ms."""
        self._after = EnginePosition()
        self._feed: Feed | None = None
        self._parts: dict[int, dict[int, pa.RecordBatch | None]] = {}
        self._notes: PositionNotes | None = None
        self._own: Path | None = None

    def stand_at(self, after: EnginePosition) -> None:
        """Forget an earlier query: from now on epochs after `after` may be offered, also while `launch` is under way."""
        self.streaming = None
        self._close()
        self._after, self._parts, self._uncommitted = after, {}, None
        self._feed = Feed(self.frame, self._schema, after, late_plans=self._on_end is not None)

    def launch(self, checkpoint: Path) -> None:
        """Start the query after `stand_at`. Raises `JobError`, `PySparkException`."""
        assert self._feed is not None, "stand_at comes first"  # noqa: S101
        plan, watermarks = inlined(self.frame.sparkSession, pruned(self.frame)), None
        if self._stateful:
            relocate(checkpoint)
            states = states_of(self.frame)
            if self._after.epoch >= 0:
                check_state(checkpoint, states)
                if states:
                    defaults = partial(default_of, self.frame.sparkSession)
                    check_settings(checkpoint, self._after, settings_of(self.frame.sparkSession), defaults)
            note_state(checkpoint, states)
            fit_scans(checkpoint, scans_of(self.frame.sparkSession, plan))
            watermarks = self._bridge.watermark_log(plan, checkpoint, self._after)
            place = checkpoint
        else:
            self._notes = PositionNotes(checkpoint, clock_s=self._clock_s)
            place = self._own = checkpoint.with_name(f"{checkpoint.name}-of-spark")
            shutil.rmtree(place, ignore_errors=True)
        self.streaming = self._feed.launch(plan, self._bridge.source, place, watermarks)

    def begin_again(self, checkpoint: Path, epoch: int) -> EnginePosition:
        """A new query on the newest state before `epoch`, at which the last one failed, as if that had not been tried.

        Returns where that state stands: epochs between that and `epoch` have to be computed again.
        """
        self.stop()
        before = EnginePosition(epoch - 1, self._after.log_offset)
        if self._stateful:
            self._bridge.unload_state()
            before = take_back(checkpoint, epoch - 1)
        self.begin(checkpoint, before)
        return before

    def offer(
        self, position: EnginePosition, batch: pa.RecordBatch, time_ms: int, give_up: GiveUp, barrier: bool = False
    ) -> None:
        """Give an epoch's records to Spark, and its time (Unix, ms); earlier ones may still be under way.

        Behind a `barrier` Spark commits the state. Raises `GivenUpError`, and what the query failed with.
        """
        ends = Ends.BARRIER if barrier and self._stateful else Ends.GOES_ON
        self._send(position, batch, time_ms, give_up, ends)
        self._last_s = self._clock_s()
        self._uncommitted = (batch.slice(0, 0), time_ms) if self._stateful and ends is Ends.GOES_ON else None

    def turn(self, give_up: GiveUp) -> None:
        """End the batch behind the epoch taken last, if it has any; nothing else is under way. Raises as `offer`."""
        if self._uncommitted is not None:
            nothing, time_ms = self._uncommitted
            self._send(self._after, nothing, time_ms, give_up, Ends.BARRIER_ALONE)
            self._uncommitted = None

    def take(self, position: EnginePosition, give_up: GiveUp) -> pa.Table:
        """The rows of the oldest epoch that was not taken yet (no columns if there are none). Raises as `offer`."""
        assert self._feed is not None, "stand_at comes first"  # noqa: S101
        epoch = position.epoch
        parts = self._parts.setdefault(epoch, {})
        count = -1
        while len(parts) != count:
            try:
                part = self._feed.channel.take()
            except ChannelClosedError as error:
                raise self._ended(error) from error
            if part is None:
                self._check(give_up)
            else:
                self._parts.setdefault(part.epoch, {})[part.part] = part.rows
                count = part.parts
        del self._parts[epoch]
        self._after = position
        self.late_rows = self._feed.channel.late_rows()
        batches = [rows for _, rows in sorted(parts.items()) if rows is not None]
        return pa.Table.from_batches(batches) if batches else pa.table({})

    def commit(self) -> None:
        """The rows of the epoch taken last were taken over."""
        if self._notes is not None:
            self._notes.passed(self._after)

    def rest(self, give_up: GiveUp) -> None:
        """After `rest_s` without an epoch, commit the state of the one taken last. Raises as `offer`."""
        if self._notes is not None:
            self._notes.rest()
        if self._rests and self._clock_s() - self._last_s >= self._rest_s:
            self.turn(give_up)

    def failure(self) -> BaseException | None:
        """What ended the query; None while it runs, or starts."""
        query = self.streaming
        if query is None or query.isActive:
            return None
        return query.exception() or RuntimeError("the query has stopped")

    def stop(self) -> None:
        """Stop the query, if its JVM is still there."""
        runs = jvm_exit_code() is None
        if self.streaming is not None and runs and self.streaming.isActive:
            self.streaming.stop()
        self._close(runs)
        if self._own is not None:
            shutil.rmtree(self._own, ignore_errors=True)

    def _send(self, position: EnginePosition, batch: pa.RecordBatch, time_ms: int, give_up: GiveUp, ends: Ends) -> None:
        assert self._feed is not None, "stand_at comes first"  # noqa: S101
        if ends is not Ends.GOES_ON and self._on_end is not None:
            self._on_end()
        try:
            self._feed.channel.offer(position, batch, time_ms, ends, lambda: self._check(give_up))
        except ChannelClosedError as error:
            raise self._ended(error) from error

    def _close(self, jvm_runs: bool = True) -> None:
        if self._feed is not None:
            self._feed.close(jvm_runs)

    def _check(self, give_up: GiveUp) -> None:
        if why := give_up():
            raise GivenUpError(why)
        if (error := self.failure()) is not None:
            raise error

    def _ended(self, closed: ChannelClosedError) -> BaseException:
        """What the query failed with, whose channel is closed."""
        wait_until(lambda: self.failure() is not None, Deadline(_END_S))
        return self.failure() or RuntimeError(f"the channel to the query ended, and the query goes on: {closed}")
