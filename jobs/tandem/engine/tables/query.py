"""A query over a plan with tables: an epoch's records of tables change them first, then the others are computed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tandem.checkpoint.folders import find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.engine.query import EpochQuery, GivenUpError, GiveUp
from tandem.engine.tables.content import FULL, fold
from tandem.engine.tables.parsing import TableFrames
from tandem.engine.tables.versions import TableVersions
from tandem.intake.parsing import SAID
from tandem.topics.declared import DEAD_LETTER_SINK

_ASK_S: Final = 0.2
_LETTER: Final = pa.schema([("sink", pa.string()), ("key", pa.binary()), ("value", pa.binary())])


@dataclass(slots=True)
class _Table:
    """A table while a query runs: `content` is as behind the epoch offered last, `changes` are that epoch's."""

    frames: TableFrames
    versions: TableVersions
    content: pa.Table
    changes: pa.Table | None = None


class TableFedQuery(EpochQuery):
    """Runs `inner`, in which every epoch is a batch, and keeps its tables in the same checkpoint.

    A table's content behind an epoch is written before Spark commits the epoch: what is committed has its tables.
    """

    def __init__(self, inner: EpochQuery, tables: Sequence[TableFrames]) -> None:
        self._inner = inner
        self._frames = tables
        self._tables: list[_Table] = []
        self._restored = Event()
        self._after = EnginePosition()
        self._position = EnginePosition()
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
        self._restored.clear()
        self._inner.stand_at(after)

    def launch(self, checkpoint: Path) -> None:
        """Start the query after `stand_at`. Raises `JobError`, `PySparkException`."""
        self._restore(checkpoint)
        self._inner.launch(checkpoint)

    def begin_again(self, checkpoint: Path, epoch: int) -> EnginePosition:
        """A new query on the newest state before `epoch`, at which the last one failed, as if that had not been tried."""
        self._restored.clear()
        before = self._inner.begin_again(checkpoint, epoch)
        self._after = before
        self._restore(checkpoint)
        return before

    def offer(
        self, position: EnginePosition, batch: pa.RecordBatch, time_ms: int, give_up: GiveUp, barrier: bool = False
    ) -> None:
        """Give an epoch's records to the tables and to Spark. Raises `GivenUpError`, and what the query failed with."""
        while not self._restored.wait(_ASK_S):
            if why := give_up():
                raise GivenUpError(why)
        self._position, self._poison = position, {}
        for table in self._tables:
            mine = pc.is_in(batch["topic"], pa.array(table.frames.source.topics, pa.string()))
            table.changes = None
            if pc.any(mine).as_py():
                self._change(table, batch.filter(mine))
                batch = batch.filter(pc.invert(mine))
        self._inner.offer(position, batch, time_ms, give_up, barrier)

    def take(self, position: EnginePosition, give_up: GiveUp) -> pa.Table:
        """The rows of the epoch offered last, and what is no row of a table. Raises as `offer`."""
        return with_letters(self._inner.take(position, give_up), self._poison)

    def commit(self) -> None:
        """The rows of the epoch taken last were taken over."""
        for table in self._tables:
            table.versions.write(self._position.epoch, table.changes, table.content)
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

    def _restore(self, checkpoint: Path) -> None:
        newest = find_newest([checkpoint], self._after.epoch)
        batch = -1 if newest is None else newest.batch
        restored = []
        for frames in self._frames:
            versions = TableVersions(checkpoint, frames.source.name, frames.columns)
            restored.append(_Table(frames, versions, versions.restore(batch)))
            frames.show(restored[-1].content)
        self._tables = restored
        self._restored.set()

    def _change(self, table: _Table, batch: pa.RecordBatch) -> None:
        source = table.frames.source
        assert source.table is not None, "it has tables only"  # noqa: S101
        rows, seqs, poison = table.frames.parsed(batch)
        folded = fold(table.content, rows, source.table.max_rows)
        full = FULL.format(name=source.name, most=source.table.max_rows)
        self._poison |= poison | {seqs[place]: f"{seqs[place]} {SAID}{full}" for place in folded.refused}
        table.content = folded.content
        table.changes = folded.changes if folded.changes.num_rows else None
        table.frames.show(table.content)


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
