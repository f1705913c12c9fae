"""An epoch's output rows: their digest, and the records that they become."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tandem.kafka.headers import EPOCH_HEADER, INDEX_HEADER, JOB_HEADER
from tandem.kafka.transactions import OutputRecord
from tandem.topics import SinkTopics


@dataclass(frozen=True, slots=True)
class EpochRows:
    """The rows of one epoch in their canonical order. Two replicas that computed the same have the same digest."""

    epoch: int
    table: pa.Table
    digest: str = field(default="")

    @classmethod
    def of(cls, epoch: int, table: pa.Table, ordered: bool) -> EpochRows:
        """Rows as the engine gave them; sorted first unless the engine's order is the same in every replica."""
        if not ordered and table.num_rows > 1:
            table = table.take(_canonical_order(table))
        return cls(epoch, table, digest(table))

    def records(self, sinks: SinkTopics) -> list[OutputRecord]:
        """The records of all Kafka sinks, in order. Each carries the epoch, its index in it, and the job as headers."""
        return list(self._records(sinks))

    def _records(self, sinks: SinkTopics) -> Iterator[OutputRecord]:
        if not self.table.num_rows:
            return
        epoch = str(self.epoch).encode()
        job = [(JOB_HEADER, sinks.job.encode())] if sinks.job else []
        names = self.table.column_names
        nothing = [None] * self.table.num_rows
        partitions = self.table["partition"].to_pylist() if "partition" in names else nothing
        headers = _plain(self.table["headers"]).to_pylist() if "headers" in names else nothing
        columns = (self.table[name].to_pylist() for name in ("sink", "key", "value"))
        for index, (sink, key, value, partition, extra) in enumerate(zip(*columns, partitions, headers, strict=True)):
            topic = sinks.topics.get(sink)
            if topic is None:
                continue  # a row of a table
            own = [(EPOCH_HEADER, epoch), (INDEX_HEADER, b"%d" % index), *job]
            users = _headers(extra)
            size = len(key or b"") + len(value or b"")
            if users:
                size += sum(len(name.encode()) + len(content or b"") for name, content in users)
            reason = ""
            if users is None:
                reason = "a header has no name, or one that is not UTF-8"
            elif size > sinks.max_record_bytes:
                reason = f"the record has {size} bytes, over spec.maxRecordBytes"
            elif partition is not None and not 0 <= partition < sinks.partitions[topic]:
                reason = f"its partition is {partition}, but {topic} has {sinks.partitions[topic]}"
            if reason:
                yield OutputRecord(sinks.dead_letter, None, _letter(sink, self.epoch, index, key, reason), own, 0)
                continue
            if partition is None:
                # Records without a key go round the partitions by index: the same for every replica.
                partition = -1 if key is not None else index % sinks.partitions[topic]
            yield OutputRecord(topic, key, value, own + (users or []), partition)


def _headers(given: Sequence[Mapping[str, Any] | None] | None) -> list[tuple[str, bytes | None]] | None:
    """A row's own headers; None if one of them has no name that Kafka's clients could read."""
    named = [(name, header["value"]) for header in given or () if header and (name := _text(header["key"])) is not None]
    return None if given and len(named) < len(given) else named


def _text(content: bytes | None) -> str | None:
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None


def _letter(sink: str, epoch: int, index: int, key: bytes | None, reason: str) -> bytes:
    letter = {"sink": sink, "epoch": epoch, "index": index, "reason": reason}
    return json.dumps(letter | {"key": None if key is None else key[:200].decode(errors="replace")}).encode()


def _canonical_order(table: pa.Table) -> pa.Array:
    """Indices that sort rows by all that they contain, so that equal places in the order mean equal rows."""
    plain = [name for name in ("sink", "key", "value") if name in table.column_names]
    others = [name for name in table.column_names if name not in plain]
    columns = {name: table[name] for name in plain} | {
        name: pa.array([json.dumps(value, default=repr) for value in _values(table[name])], pa.string())
        for name in others
    }
    return pc.sort_indices(pa.table(columns), sort_keys=[(name, "ascending") for name in (*plain, *others)])


def digest(table: pa.Table) -> str:
    """BLAKE2b-128 over names, types, lengths and bytes of all columns, hex; independent of how Arrow has chunked them."""
    state = hashlib.blake2b(digest_size=16)
    state.update(f"{table.num_rows}".encode())
    for name in table.column_names:
        state.update(f"\0{name}\0{table[name].type}\0".encode())
        column = table[name].combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # no chunk at all
            continue
        for part in _canonical(column):
            state.update(part)
    return state.hexdigest()


def _canonical(column: pa.Array) -> Iterator[bytes]:
    """Bytes that depend on the values of a column alone: what lies under nulls and padding is left out."""
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        lengths = pc.fill_null(pc.binary_length(column), -1)
        yield np.asarray(lengths, dtype=np.int32).tobytes()
        values = pc.fill_null(column, b"" if pa.types.is_binary(kind) else "").cast(pa.binary())
        _, offsets, data = values.buffers()
        if data is not None and len(values):
            bounds = np.frombuffer(offsets, dtype=np.int32)[values.offset : values.offset + len(values) + 1]
            yield memoryview(data)[int(bounds[0]) : int(bounds[-1])].tobytes()
    else:
        yield json.dumps(_values(column), default=repr).encode()


def _values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """A column's values for a digest.

    Spark takes any bytes for a STRING, and knows years beyond 9999. Python does not: a column with one of those is read
    as plain bytes and numbers, and marked, so that no text looks like the bytes of another one.
    """
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [("plain", value) for value in _plain(column).to_pylist()]


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
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
