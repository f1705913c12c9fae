"""The headers that every output row carries: its epoch, and its index in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

EPOCH_HEADER = "tandem.epoch"
INDEX_HEADER = "tandem.index"


@dataclass(frozen=True, order=True, slots=True)
class RowId:
    """Which row of the job's output a record is. Rows are published in this order; a repeated row has the same id."""

    epoch: int
    index: int


HeaderValue = str | bytes | None


def row_id(headers: Sequence[tuple[str, HeaderValue]] | Mapping[str, HeaderValue] | None) -> RowId | None:
    """The id in a record's headers; None for a record that no job of Tandem wrote."""
    epoch = index = None
    for name, value in headers.items() if isinstance(headers, Mapping) else headers or ():
        if name == EPOCH_HEADER and epoch is None:
            epoch = _number(value)
        elif name == INDEX_HEADER and index is None:
            index = _number(value)
    return None if epoch is None or index is None else RowId(epoch, index)


def _number(text: HeaderValue) -> int | None:
    digits = text.decode(errors="replace") if isinstance(text, bytes) else text or ""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None
