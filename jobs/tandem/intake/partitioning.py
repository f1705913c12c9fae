"""Whether the partitions of a source follow what the manifest says: equal values of it are in one lane. Pure.

A lane counts what it sees. Where one value is in partitions of two lanes, each counts a part of it, and nothing else
shows it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from confluent_kafka import Message

from tandem.formats.decoding import Decoding, Side
from tandem.formats.encoding import as_numbers
from tandem.manifest import SourceSpec
from tandem.manifest.formats import REGISTRY_FORMATS
from tandem.protocol.values import TopicPartition

_MOST_CHARACTERS: Final = 80
Placed = tuple[TopicPartition, Hashable]
"""A value, and the partition that it was found in."""


@dataclass(frozen=True, slots=True)
class Scattered:
    """One value of what the partitions of `source` should follow, in partitions of two lanes. `column`: of the source."""

    source: str
    column: str
    value: str
    places: tuple[TopicPartition, TopicPartition]
    lanes: int

    @property
    def words(self) -> str:
        """What was found, and what to do."""
        what = "the record's key" if self.column == "key" else f"column {self.column}"
        where = " and ".join(f"{tp.topic}/{tp.partition} (lane {tp.partition % self.lanes})" for tp in self.places)
        return (
            f"source {self.source} is not partitioned by {what} (spec.sources[].partitionedBy): {self.value} is in {where}, "
            "so each of these lanes keeps a state of its own for it. Say what the partitions follow, and keep the state by "
            "that; or have the topic written by one partitioner with that key; or copy it to a topic that is, by a job "
            "whose partitionedBy is any (docs/how-to/lanes.md)"
        )


def scattered(source: SourceSpec, found: Iterable[Placed], lanes: int) -> Scattered | None:
    """The first value that is in partitions of two lanes; None if none is."""
    first: dict[Hashable, TopicPartition] = {}
    for tp, value in found:
        before = first.setdefault(value, tp)
        if before.partition % lanes != tp.partition % lanes:
            return Scattered(source.name, source.partitioned_by, _shown(value), (before, tp), lanes)
    return None


def placed_values(
    source: SourceSpec, records: Iterable[tuple[TopicPartition, Sequence[Message]]], decoding: Decoding | None
) -> Iterator[Placed]:
    """What the partitions of a source should follow, of each of its records that has it: null is no value to follow.

    `decoding` : of the job's sources whose schemas are in a registry, those of these records are known to it.
    """
    values_of = _reader(source, decoding)
    for tp, messages in records:
        yield from ((tp, value) for value in values_of(messages) if value is not None)


def _reader(source: SourceSpec, decoding: Decoding | None) -> Callable[[Sequence[Message]], Iterable[Hashable]]:
    side: Side = "key" if source.partitioned_by == "key" else "value"
    form = source.key_format if side == "key" else source.format
    if form in REGISTRY_FORMATS:
        return lambda messages: _decoded(source, side, messages, decoding)
    if side == "key":
        return lambda messages: (message.key() for message in messages)
    if form == "json":
        return lambda messages: (_of_json(message.value(), source.partitioned_by) for message in messages)
    return lambda messages: (message.value() for message in messages)


def _decoded(
    source: SourceSpec, side: Side, messages: Sequence[Message], decoding: Decoding | None
) -> Iterator[Hashable]:
    if decoding is None:
        return
    decoder = next(one for one in decoding.decoders if (one.source, one.side) == (source.name, side))
    for value in _values(decoding.column(decoder, messages, {})):
        is_record = side == "value" and isinstance(value, Mapping)
        yield _plain(value.get(source.partitioned_by) if is_record else value)


def _values(column: pa.Array) -> list[Any]:
    """Python's times end with the year 9999: where others are beside a value, all are numbers."""
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return list(column.cast(as_numbers(column.type)).to_pylist())


def _of_json(value: bytes | None, column: str) -> Hashable:
    try:
        document = json.loads(value or b"null")
    except (ValueError, RecursionError):
        return None  # it becomes a dead letter
    return _plain(document.get(column)) if isinstance(document, dict) else None


def _plain(value: Any) -> Hashable:
    """As a text: a number and its text are the same value of a column, whatever the column's type."""
    if value is None or isinstance(value, str | bytes):
        return value
    return json.dumps(value, sort_keys=True, default=str)


def _shown(value: Hashable) -> str:
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return repr(text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…")
