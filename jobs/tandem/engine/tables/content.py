"""What a table holds, and what an epoch's records make of it. Pure.

A row has two identities: its key columns, and the key of the record that it came with. A record replaces what has either:
that is what readers of a compacted topic see, and what the job joins by. A record without a value is a tombstone: it
deletes the row that came with its record's key, since it has no columns.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tandem.jobapi.table_frames import KEY, RECORD_KEY

LIVE: Final = "_tandem_live"
"""Of a change: whether it leaves a row. The others only delete."""

FULL: Final = "the table {name} has {most:,} rows, its most (spec.sources, table.maxRows)"


@dataclass(frozen=True, slots=True)
class Folded:
    """An epoch's changes.

    `content` : the table's rows behind the epoch, oldest change first.
    `changes` : the epoch's rows and deletions, in order, for `changed`.
    `refused` : places in the epoch's records, of those that the table has no room for.
    """

    content: pa.Table
    changes: pa.Table
    refused: tuple[int, ...]


def empty(columns: pa.Schema) -> pa.Table:
    """A table without rows; `columns`: those that the job sees."""
    return content_schema(columns).empty_table()


def content_schema(columns: pa.Schema) -> pa.Schema:
    """Of a table's content: its columns, and both identities."""
    return columns.append(pa.field(KEY, pa.string())).append(pa.field(RECORD_KEY, pa.binary()))


def columns_of(content: pa.Table) -> pa.Table:
    """What the job sees of a content."""
    return content.drop_columns([KEY, RECORD_KEY])


def key_columns(content: pa.Table) -> tuple[str, ...]:
    """The key columns that identify the newest row of a content, in order; none of one without rows."""
    return tuple(json.loads(content[KEY][-1].as_py())) if content.num_rows else ()


def fold(content: pa.Table, rows: pa.Table, most_rows: int) -> Folded:
    """Put an epoch's records into a content of at most `most_rows` rows.

    `rows` : one for each record, in order, as `content_schema` has it; a tombstone's columns and `KEY` are null.

    A new row for which there is no room is refused, and changes nothing. What replaces a row is never refused.
    """
    hit = _hit(content, rows)
    touched = _Touched(content.num_rows, most_rows)
    for key, record_key in _identities(content.filter(hit)):
        touched.put(key, record_key, _BEFORE)
    refused = [
        place for place, (key, record_key) in enumerate(_identities(rows)) if not touched.put(key, record_key, place)
    ]
    live = np.zeros(rows.num_rows, dtype=bool)
    live[touched.places()] = True
    changes = rows.append_column(pa.field(LIVE, pa.bool_()), pa.array(live))
    taken = np.setdiff1d(np.arange(rows.num_rows), refused)
    changes = changes.take(pa.array(taken, pa.int64()))
    return Folded(changed(content, changes), changes, tuple(refused))


def changed(content: pa.Table, changes: pa.Table) -> pa.Table:
    """A content with an epoch's changes: what they replace or delete goes, their rows come last."""
    alive = changes.filter(changes[LIVE]).drop_columns([LIVE])
    return pa.concat_tables([content.filter(pc.invert(_hit(content, changes))), alive]).combine_chunks()


_BEFORE: Final = -1
Identities = tuple[str | None, bytes | None]


class _Touched:
    """The rows that an epoch's records have to do with, and how many rows there are in all."""

    def __init__(self, rows: int, most: int) -> None:
        self._rows, self._most = rows, most
        self._of_key: dict[str | None, tuple[Identities, int]] = {}  # no row has the key None, nor that record key
        self._of_record_key: dict[bytes | None, tuple[Identities, int]] = {}

    def put(self, key: str | None, record_key: bytes | None, place: int) -> bool:
        """Take a record in; False, and nothing is changed, if it would be a row too many."""
        own = ((key, record_key), place)
        replaced = {row for row in (self._of_key.get(key), self._of_record_key.get(record_key)) if row is not None}
        if place != _BEFORE and key is not None:
            if not replaced and self._rows >= self._most:
                return False
            self._rows += 1
        for (old_key, old_record_key), _ in replaced:
            self._of_key.pop(old_key, None)
            self._of_record_key.pop(old_record_key, None)
        self._rows -= len(replaced)
        if key is not None:
            self._of_key[key] = own
            if record_key is not None:
                self._of_record_key[record_key] = own
        return True

    def places(self) -> list[int]:
        """The records that have left a row."""
        return sorted(place for _, place in self._of_key.values() if place != _BEFORE)


def _identities(rows: pa.Table) -> Iterator[Identities]:
    return zip(rows[KEY].to_pylist(), rows[RECORD_KEY].to_pylist(), strict=True)


def _hit(content: pa.Table, changes: pa.Table) -> pa.ChunkedArray:
    """Which rows of the content a change has an identity of."""
    keys = changes[KEY].drop_null().combine_chunks()
    record_keys = changes[RECORD_KEY].drop_null().combine_chunks()
    return pc.or_(pc.is_in(content[KEY], keys), pc.is_in(content[RECORD_KEY], record_keys))
