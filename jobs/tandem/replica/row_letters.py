"""The dead letter of an output row: where it was to go, why it could not, and of a table's row what it holds. Pure.

==================  =============================================================================================
`sink`              of the manifest
`epoch`, `index`    the row's epoch, and its place in it
`reason`            why the sink could not take it
`key`               of a record: its first 200 bytes as text; null for a table's row
`value`             of a table's row: its columns as JSON; a record has none
`truncated`         true if the value was cut, so that the letter fits into `maxRecordBytes`
`valueBytes`        how long what was cut had been
==================  =============================================================================================
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import pyarrow as pa

from tandem.intake.letters import LEAST_BYTES, value_fields
from tandem.replica.rows import plain

_MOST_KEY_BYTES: Final = 200
_MOST_REASON: Final = 500


def row_letter(sink: str, epoch: int, index: int, key: bytes | None, reason: str) -> dict[str, Any]:
    """A letter's fields without a value."""
    shown = None if key is None else key[:_MOST_KEY_BYTES].decode(errors="replace")
    return {"sink": sink, "epoch": epoch, "index": index, "reason": reason[:_MOST_REASON], "key": shown}


def encoded(letter: Mapping[str, Any], row: bytes | None, most_bytes: int) -> bytes:
    """A letter as JSON, with the table's `row`, see `row_json`, as far as both fit into `most_bytes`."""
    text = json.dumps(letter).encode()
    if row is None:
        return text
    room, kept = max(most_bytes, LEAST_BYTES), len(row)
    while len(whole := json.dumps({**letter, **value_fields(row, kept)}).encode()) > room:
        if not kept:
            return text
        kept = min(kept - 1, kept * room // len(whole))
    return whole


def row_json(column: pa.ChunkedArray, index: int) -> bytes:
    """A table's row, one of its struct column, as JSON: dates and times as text, numbers where Python knows no such date;
    bytes as text, those that are no UTF-8 as U+FFFD."""
    row = column.slice(index, 1)
    try:
        value = row[0].as_py()
    except (ValueError, OverflowError):
        value = plain(row)[0].as_py()
    return json.dumps(_shown(value), ensure_ascii=False).encode(errors="replace")


def _shown(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _shown(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_shown(one) for one in value]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, datetime):
        return value.isoformat()
    is_json = value is None or isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
    return value if is_json else str(value)
