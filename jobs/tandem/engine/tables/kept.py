"""The tables of a plan while a query runs: what they hold behind the epoch offered last, and their versions on disk."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tandem.checkpoint.folders import find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.engine.query import GivenUpError, GiveUp
from tandem.engine.tables.content import FULL, Folded, fold, key_columns
from tandem.engine.tables.parsing import TableFrames
from tandem.engine.tables.versions import TableVersions
from tandem.intake.parsing import SAID
from tandem.jobapi.errors import JobError
from tandem.manifest import SourceSpec

_ASK_S: Final = 0.2


@dataclass(slots=True)
class _Table:
    """`content` is as behind the epoch adopted last; `changes`: what is not written yet."""

    frames: TableFrames
    versions: TableVersions
    content: pa.Table
    changes: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What an epoch's records make of the tables.

    `folded` : place of a table → what its records make of it; only of those that have any.
    `poison` : `seq` → why it is no row (see `jobapi.frames`).
    """

    folded: dict[int, Folded]
    poison: dict[int, str]

    @property
    def is_any(self) -> bool:
        """Whether a table holds something else from this epoch on."""
        return any(folded.changes.num_rows for folded in self.folded.values())


class KeptTables:
    """The tables of one plan. Not thread-safe, but that `stand_at` and `restore` may be called by another thread.

    Of each of Spark's batches there is a version of each table, of the same number.
    """

    def __init__(self, frames: Sequence[TableFrames]) -> None:
        self._frames = frames
        self._tables: list[_Table] = []
        self._batch = 0
        self._restored = Event()

    def stand_at(self) -> None:
        """Another query begins: `taken_from` waits until `restore` was called."""
        self._restored.clear()

    def restore(self, checkpoint: Path, after: EnginePosition) -> None:
        """They hold what they held behind `after`, at which the checkpoint stands. Raises `JobError`: that is not there."""
        newest = find_newest([checkpoint], after.epoch)
        batch = -1 if newest is None else newest.batch
        restored = []
        for frames in self._frames:
            versions = TableVersions(checkpoint, frames.source.name, frames.columns)
            content = versions.restore(batch)
            _check_key(frames.source, content)
            restored.append(_Table(frames, versions, content))
            frames.show(content)
        self._tables, self._batch = restored, batch + 1
        self._restored.set()

    def taken_from(self, batch: pa.RecordBatch, give_up: GiveUp) -> tuple[pa.RecordBatch, Change]:
        """An epoch's records without those of the tables, and what these change. Raises `GivenUpError`."""
        while not self._restored.wait(_ASK_S):
            if why := give_up():
                raise GivenUpError(why)
        change = Change({}, {})
        for place, table in enumerate(self._tables):
            mine = pc.is_in(batch["topic"], pa.array(table.frames.source.topics, pa.string()))
            if pc.any(mine).as_py():
                change.folded[place] = _folded(table, batch.filter(mine), change.poison)
                batch = batch.filter(pc.invert(mine))
        return batch, change

    def adopt(self, change: Change) -> None:
        """They hold what the epoch has made of them. What is planned from now on sees that."""
        for place, folded in change.folded.items():
            table = self._tables[place]
            if not folded.changes.num_rows:
                continue
            if table.changes is not None:
                raise RuntimeError(f"the table {table.frames.source.name} changes twice within a batch")
            table.content, table.changes = folded.content, folded.changes
            table.frames.show(table.content)

    def write(self) -> None:
        """Keep what they hold now, as behind the batch that Spark runs. Called once for each, before Spark commits it."""
        for table in self._tables:
            table.versions.write(self._batch, table.changes, table.content)
            table.changes = None
        self._batch += 1


def _check_key(source: SourceSpec, content: pa.Table) -> None:
    """Raise `JobError` if a content's rows are identified by other columns: no new row would ever replace one of them."""
    assert source.table is not None, "it has tables only"  # noqa: S101
    kept = key_columns(content)
    if kept and kept != source.table.key:
        raise JobError(
            f"source {source.name}: the rows of its table were kept by the key columns {', '.join(kept)}, and the manifest "
            f"now has {', '.join(source.table.key)}. No new row would replace one of them. Change "
            "spec.sources[].table.key back, in that order, or give the job another metadata.name, so that it reads the "
            "topic from its beginning"
        )


def _folded(table: _Table, batch: pa.RecordBatch, poison: dict[int, str]) -> Folded:
    """What a table's records make of it; adds to `poison` those that are no rows, or for which there is no room."""
    source = table.frames.source
    assert source.table is not None, "it has tables only"  # noqa: S101
    rows, seqs, unread = table.frames.parsed(batch)
    folded = fold(table.content, rows, source.table.max_rows)
    full = FULL.format(name=source.name, most=source.table.max_rows)
    poison |= unread | {seqs[place]: f"{seqs[place]} {SAID}{full}" for place in folded.refused}
    return folded
