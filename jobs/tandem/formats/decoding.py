"""Decodes an epoch's values and keys into columns that Spark gets beside the bytes."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import pyarrow as pa
from confluent_kafka import Message

from tandem.formats.framing import UndecodableError, unframed
from tandem.formats.readers import Reader
from tandem.formats.registry import SchemaRegistry, Wait

Side = Literal["value", "key"]

LONGEST_WAIT_S: Final = 300.0
"""For a registry that does not answer; then the replica ends, and is started again."""
_MOST_WORDS: Final = 300


def column_of(source: str, side: Side) -> str:
    """The column that has the decoded values or keys of a source."""
    return f"decoded_{side}_{source}"


@dataclass(frozen=True, slots=True)
class Decoder:
    """Of the values or the keys of one source."""

    source: str
    topics: frozenset[str]
    side: Side
    reader: Reader

    @property
    def column(self) -> pa.Field:
        """Null where a record is none of the source's, or has no value (a tombstone) or key."""
        return pa.field(column_of(self.source, self.side), self.reader.type)

    def content(self, message: Message) -> bytes | None:
        """What is decoded of a record; None: there is nothing, or it is not of this source."""
        if message.topic() not in self.topics:
            return None
        return message.value() if self.side == "value" else message.key()


@dataclass(frozen=True, slots=True)
class Decoding:
    """All decoders of a job. `registry`: has the schemas that records were written with."""

    decoders: tuple[Decoder, ...]
    registry: SchemaRegistry

    @property
    def fields(self) -> list[pa.Field]:
        """The columns."""
        return [decoder.column for decoder in self.decoders]

    def await_schemas(self, messages: Sequence[Message], wait: Wait) -> None:
        """Make sure that the schemas of these records are known. Raises `RegistryTimeoutError`, and what `wait` raises."""
        ids = {found for decoder in self.decoders for found in _ids(decoder, messages)}
        self.registry.fetch(ids, wait, LONGEST_WAIT_S)

    def columns(self, messages: Sequence[Message], reasons: MutableMapping[int, str]) -> list[pa.Array]:
        """The columns of these records, whose schemas are known. What cannot be decoded is null, and gets a reason."""
        return [self.column(decoder, messages, reasons) for decoder in self.decoders]

    def column(self, decoder: Decoder, messages: Sequence[Message], reasons: MutableMapping[int, str]) -> pa.Array:
        """One of the columns."""
        values: list[Any] = [None] * len(messages)
        for seq, message in enumerate(messages):
            content = decoder.content(message)
            if content is not None:
                try:
                    values[seq] = self._decoded(decoder, content)
                except UndecodableError as error:
                    reasons.setdefault(seq, f"the {decoder.side} is no {decoder.reader.name}: {error}")
        return _array(values, decoder, reasons)

    def _decoded(self, decoder: Decoder, content: bytes) -> Any:
        schema_id, payload = unframed(content)
        writer = self.registry.known(schema_id)
        if writer is None:
            raise UndecodableError(f"the schema registry has no schema {schema_id}, which it names")
        return decoder.reader.read(writer, payload)


def _ids(decoder: Decoder, messages: Sequence[Message]) -> Iterator[int]:
    for message in messages:
        content = decoder.content(message)
        if content is not None and len(content) > 4 and content[0] == 0:
            yield int.from_bytes(content[1:5])


def _array(values: list[Any], decoder: Decoder, reasons: MutableMapping[int, str]) -> pa.Array:
    reader = decoder.reader
    try:
        return pa.array(values, reader.read_type).cast(reader.type)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pass
    for seq, value in enumerate(values):
        try:
            pa.array([value], reader.read_type).cast(reader.type)
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            values[seq] = None
            reasons.setdefault(seq, f"the {decoder.side} does not fit its columns: {str(error)[:_MOST_WORDS]}")
    return pa.array(values, reader.read_type).cast(reader.type)
