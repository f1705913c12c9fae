"""An epoch's output rows, in the order in which they are published, and their digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class EpochRows:
    """The rows of one epoch, as they are published. Two replicas that computed the same have the same digest.

    `inputs` : which records they were computed from, see `Marker`; "": not known.
    """

    epoch: int
    table: pa.Table
    digest: str = field(default="")
    inputs: str = ""

    @classmethod
    def of(cls, epoch: int, table: pa.Table, ordered: bool, inputs: str = "") -> EpochRows:
        """Rows as the engine gave them; where several tasks computed them (`ordered` is false), sorted by sink and key.

        Rows of one key keep the engine's order, so that the last one is that of the last record.
        """
        if not ordered and table.num_rows > 1:
            table = table.take(_by_key(table))
        return cls(epoch, table, digest(table), inputs)


def _by_key(table: pa.Table) -> pa.Array:
    """Indices that sort rows by sink and key, and leave the order of others (Arrow's sort is stable)."""
    names = [name for name in ("sink", "key") if name in table.column_names]
    return pc.sort_indices(table.select(names), sort_keys=[(name, "ascending") for name in names])


def digest(table: pa.Table) -> str:
    """BLAKE2b-128 over names, types, lengths and bytes of all columns, hex; independent of how Arrow has chunked them."""
    state = hashlib.blake2b(digest_size=16)
    state.update(f"{table.num_rows}".encode())
    for name, chunks in zip(table.column_names, table.columns, strict=True):
        state.update(f"\0{name}\0{chunks.type}\0".encode())
        # Most epochs are one chunk: to combine that takes as long as to hash it.
        column = chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # no chunk at all
            continue
        for part in _canonical(column):
            state.update(part)
    return state.hexdigest()


def _canonical(column: pa.Array) -> Iterator[bytes | memoryview]:
    """Bytes that depend on the values of a column alone: what lies under nulls and padding is left out."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        yield from _lengths_and_bytes(column)
    else:
        yield json.dumps(_values(column), default=repr).encode()


def _lengths_and_bytes(column: pa.Array) -> Iterator[bytes | memoryview]:
    """The lengths of texts as 32-bit integers, −1 for null; then their bytes, one after the other."""
    if not len(column):
        return
    nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if nulls is not None:
        column = pc.fill_null(column, b"" if pa.types.is_binary(column.type) else "")
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    lengths = bounds[1:] - bounds[:-1]
    if nulls is not None:
        lengths[nulls] = -1
    yield lengths.tobytes()
    if data is not None:
        yield memoryview(data)[int(bounds[0]) : int(bounds[-1])]


def _values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """A column's values for a digest.

    Spark takes any bytes for a STRING, and knows years beyond 9999. Python does not: a column with one of those is read
    as plain bytes and numbers, and marked, so that no text looks like the bytes of another one.
    """
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [("plain", value) for value in plain(column).to_pylist()]


def plain(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Texts as their bytes, times as numbers, however deep they lie."""
    return column.cast(_plain_type(column.type))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain_type(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain_type(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_type(kind.item_type))
    if pa.types.is_string(kind):
        return pa.binary()
    if pa.types.is_timestamp(kind):
        return pa.int64()
    return pa.int32() if pa.types.is_date32(kind) else kind
