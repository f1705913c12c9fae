"""A query over a plan with tables: an epoch's records of tables change them first, then the others are computed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tandem.checkpoint.position import EnginePosition
from tandem.engine.query import EpochQuery, GiveUp
from tandem.engine.realtime.query import RealTimeQuery
from tandem.engine.tables.kept import Change, KeptTables
from tandem.topics.declared import DEAD_LETTER_SINK

_LETTER: Final = pa.schema([("sink", pa.string()), ("key", pa.binary()), ("value", pa.binary())])


class TableFedQuery(EpochQuery):
    """Runs `inner`, in which every epoch is a batch, and keeps its tables in the same checkpoint.

    A table's content behind an epoch is written before Spark commits the epoch: what is committed has its tables.
    """

    def __init__(self, inner: EpochQuery, tables: KeptTables) -> None:
        self._inner = inner
        self._tables = tables
        self._after = EnginePosition()
        self._poison: dict[int, str] = {}

    @property
    def frame(self) -> DataFrame:  # type: ignore[override]
        """The plan."""
        return self._inner.frame

    @property
    def streaming(self) -> StreamingQuery | None:  # type: ignore[override]
        """Spark's own object, while the query runs and after."""
        return self._inner.streaming

    @property
    def late_rows(self) -> int:  # type: ignore[override]
        """How many came too late for a watermark in the epoch that was taken last."""
        return self._inner.late_rows

    def stand_at(self, after: EnginePosition) -> None:
        """Forget an earlier query: from now on epochs after `after` may be offered, also while `launch` is under way."""
        self._after = after
        self._tables.stand_at()
        self._inner.stand_at(after)

    def launch(self, checkpoint: Path) -> None:
        """Start the query after `stand_at`. Raises `JobError`, `PySparkException`."""
        self._tables.restore(checkpoint, self._after)
        self._inner.launch(checkpoint)

    def begin_again(self, checkpoint: Path, epoch: int) -> EnginePosition:
        """A new query on the newest state before `epoch`, at which the last one failed, as if that had not been tried."""
        self._tables.stand_at()
        before = self._inner.begin_again(checkpoint, epoch)
        self._after = before
        self._tables.restore(checkpoint, before)
        return before

    def offer(
        self, position: EnginePosition, batch: pa.RecordBatch, time_ms: int, give_up: GiveUp, barrier: bool = False
    ) -> None:
        """Give an epoch's records to the tables and to Spark. Raises `GivenUpError`, and what the query failed with."""
        batch, change = self._tables.taken_from(batch, give_up)
        self._poison = change.poison
        self._change(change, give_up)
        self._inner.offer(position, batch, time_ms, give_up, barrier)

    def take(self, position: EnginePosition, give_up: GiveUp) -> pa.Table:
        """The rows of the epoch offered last, and what is no row of a table. Raises as `offer`."""
        return with_letters(self._inner.take(position, give_up), self._poison)

    def commit(self) -> None:
        """The rows of the epoch taken last were taken over."""
        self._tables.write()
        self._inner.commit()

    def rest(self, give_up: GiveUp) -> None:
        """Called several times a second while no epoch comes."""
        self._inner.rest(give_up)

    def failure(self) -> BaseException | None:
        """What ended the query; None while it runs, or starts."""
        return self._inner.failure()

    def stop(self) -> None:
        """Stop the query, if its JVM is still there."""
        self._inner.stop()

    def _change(self, change: Change, give_up: GiveUp) -> None:  # noqa: ARG002 - nothing is waited for
        self._tables.adopt(change)


class TableTurningQuery(TableFedQuery):
    """Runs a query in real-time mode, whose batch ends before each epoch that changes a table.

    A plan has the tables as they were when it was made, and each batch has a plan of its own. So Spark ends its batch, and
    begins the next one, with that epoch as its first, when the tables hold what it has made of them. Whether an epoch does
    is a function of the log: all replicas end a batch there, also who computes the epochs again from an earlier state. A
    batch that has no epoch yet need not end: its plan is made when its first epoch is there. So no batch is without an
    epoch, and one that restores the state before such an epoch has the same batches from there on as one that ran through.

    An epoch is offered when the one before was taken. Otherwise what is planned for that could have this one's tables.

    Parameters
    ----------
    inner : is to call `tables.write` when a batch ends: see `RealTimeQuery`.
    tables : of its plan.
    """

    def __init__(self, inner: RealTimeQuery, tables: KeptTables) -> None:
        super().__init__(inner, tables)
        self._turning = inner

    def commit(self) -> None:
        """The rows of the epoch taken last were taken over."""
        self._inner.commit()

    def _change(self, change: Change, give_up: GiveUp) -> None:
        if change.is_any:
            self._turning.turn(give_up)
            self._tables.adopt(change)


def with_letters(rows: pa.Table, marks: Mapping[int, str]) -> pa.Table:
    """The rows of an epoch with those of the sink `dead-letter` that say which records are none; see `jobapi.frames`."""
    if not marks:
        return rows
    values = {"sink": DEAD_LETTER_SINK, "value": None}
    letters = pa.Table.from_pylist(
        [{**values, "value": mark.encode()} for _, mark in sorted(marks.items())], schema=_LETTER
    )
    if not rows.num_columns:
        return letters
    return pa.concat_tables([rows, letters], promote_options="default")
