"""What a test gets: the rows that a job would publish, read back, by sink and epoch. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tandem.topics.declared import DEAD_LETTER_SINK, TABLE_PREFIX


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a sink.

    `key` : text; bytes where it is no UTF-8; None for no key.
    `value` : a JSON object or array as a dict or list; any other text as it is; bytes where it is no UTF-8; None for a
        tombstone. Of a table, a dict of its columns.
    `raw_key`, `raw_value` : the exact bytes; None for a row of a table.
    `partition` : if the job names one.
    `headers` : the job's own; a name may be bytes, too, which no topic takes.
    """

    sink: str
    epoch: int
    key: str | bytes | None
    value: Any
    raw_key: bytes | None = None
    raw_value: bytes | None = None
    partition: int | None = None
    headers: tuple[tuple[str | bytes | None, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """All rows of a run, in the order in which they would be published.

    `sinks` : of the job. `epochs`: how many were computed. `late_rows`: of each epoch, how many came too late for a
    watermark; in the real-time engine they are counted at the end of a batch.
    """

    sinks: tuple[str, ...]
    epochs: int
    all_rows: tuple[Row, ...]
    late_rows: tuple[int, ...] = ()

    def __getitem__(self, sink: str) -> list[Row]:
        """The rows of a sink, of all epochs. Raises `KeyError`."""
        return self.rows(sink)

    def rows(self, sink: str, epoch: int | None = None) -> list[Row]:
        """The rows of a sink, of one epoch or of all. Raises `KeyError`: there is no such sink; `IndexError`: epoch."""
        if sink not in self.sinks:
            raise KeyError(f"the job has no sink {sink!r}. Its sinks are {list(self.sinks)}")
        return self._of(sink, epoch)

    def values(self, sink: str, epoch: int | None = None) -> list[Any]:
        """The values of `rows`. Raises as that does."""
        return [row.value for row in self.rows(sink, epoch)]

    def dead_letters(self, epoch: int | None = None) -> list[Mapping[str, Any]]:
        """The dead letters, of one epoch or of all: `source`, `reason`, `value`, its place and more, see `intake.letters`.

        Raises `IndexError`: there is no such epoch.
        """
        return [row.value for row in self._of(DEAD_LETTER_SINK, epoch)]

    def _of(self, sink: str, epoch: int | None) -> list[Row]:
        if epoch is not None and not 0 <= epoch < self.epochs:
            raise IndexError(f"there is no epoch {epoch}: {self.epochs} were computed, the first is 0")
        return [row for row in self.all_rows if row.sink == sink and epoch in (None, row.epoch)]


def rows_of(epoch: int, table: pa.Table) -> list[Row]:
    """An epoch's rows."""
    return [_row(epoch, columns) for columns in table.to_pylist()]


def _row(epoch: int, columns: Mapping[str, Any]) -> Row:
    sink, key, value = columns["sink"], columns["key"], columns["value"]
    if TABLE_PREFIX + sink in columns:
        return Row(sink, epoch, None, columns[TABLE_PREFIX + sink])
    headers: Sequence[Mapping[str, Any] | None] = columns.get("headers") or ()
    named = tuple((one["key"], one["value"]) if one else (None, None) for one in headers)
    return Row(sink, epoch, text(key), _value(value), key, value, columns.get("partition"), named)


def text(content: bytes | None) -> str | bytes | None:
    """The text of UTF-8; other bytes as they are."""
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return content


def _value(content: bytes | None) -> Any:
    found = text(content)
    if isinstance(found, str) and found[:1] in ("{", "["):
        try:
            return json.loads(found)
        except ValueError:
            return found
    return found
