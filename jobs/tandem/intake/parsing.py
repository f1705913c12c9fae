"""Taking an epoch's records in: what Spark can compute becomes a batch, every other record a dead letter.

Nothing here depends on anything but the records, so all replicas take the same ones in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import Message
from pyspark.sql.types import DataType

from tandem.formats.decoding import Decoding
from tandem.formats.registry import Wait
from tandem.intake import clock_times, decimals
from tandem.intake.batch import HEADERS, LATEST_MS, SCHEMA, Header, in_order, to_batch
from tandem.intake.documents import text_behind
from tandem.intake.fetch import Fetched
from tandem.intake.letters import InputRecord, letter
from tandem.intake.reasons import TEXT_BEHIND, why_no_object
from tandem.kafka.headers import UnreadableHeaderError, readable_headers
from tandem.manifest import SourceSpec
from tandem.manifest.ddl import column_names
from tandem.topics.declared import DEAD_LETTER_SINK

Place = tuple[str, int, int]
"""Topic, partition and offset."""

SAID: Final = "!"
"""In what Spark's rows of dead letters say: before a reason that is not to be found in the record itself."""

_BOUNDS_US: Final = LATEST_MS * 1_000


@dataclass(frozen=True, slots=True)
class Counts:
    """Of one source in one epoch: its records, how many of them became dead letters, and why the first of them did."""

    records: int
    letters: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class EpochRecords:
    """An epoch's records, taken in.

    `batch` : what Spark gets, sorted by `seq`; refused records are left out of it.
    `messages` : all records, by `seq`.
    `refused` : `seq` → why that record is not in `batch`.
    `counts` : source → how many of the records are its.
    """

    batch: pa.RecordBatch
    messages: Sequence[Message]
    refused: Mapping[int, str]
    counts: Mapping[str, int]
    intake: Intake

    def completed(self, table: pa.Table) -> tuple[pa.Table, Mapping[str, Counts]]:
        """The epoch's rows with its dead letters written out, those of refused records last; and what each source had.

        Spark's rows of the sink `dead-letter` only say which record they are of; see `frames`.
        """
        reasons = dict(self.refused)
        poison = np.zeros(0, dtype=bool)
        if table.num_rows and self.intake.may_find_poison:
            poison = pc.equal(table["sink"], DEAD_LETTER_SINK).to_numpy()
        marked = table["value"].filter(pa.array(poison)).to_pylist() if poison.any() else []
        of_spark = [self._unread(mark) for mark in marked]
        reasons |= of_spark
        if marked:
            letters = [self._letter(seq, reason) for seq, reason in of_spark]
            table = _replaced(table, poison, letters)
        if self.refused:
            table = _appended(table, [self._letter(seq, reason) for seq, reason in sorted(self.refused.items())])
        return table, self._counts(reasons)

    def _unread(self, mark: bytes) -> tuple[int, str]:
        seq, _, nulls = mark.decode().partition(" ")
        if nulls.startswith(SAID):
            return int(seq), nulls.removeprefix(SAID)
        message = self.messages[int(seq)]
        source = self.intake.source(message)
        columns = column_names(source.schema_ddl or "")
        unread = [name for name, null in zip(columns, nulls, strict=False) if null == "1"]
        schema = self.intake.schemas.get(source.name)
        return int(seq), why_no_object(message.value(), source.schema_ddl or "", unread, schema)

    def _letter(self, seq: int, reason: str) -> tuple[bytes | None, bytes]:
        message = self.messages[seq]
        return letter(_input(message, self.intake.source(message).name), reason, self.intake.most_bytes)

    def _counts(self, reasons: Mapping[int, str]) -> Mapping[str, Counts]:
        letters = Counter(self.intake.source(self.messages[seq]).name for seq in reasons)
        first = {self.intake.source(self.messages[seq]).name: reasons[seq] for seq in sorted(reasons, reverse=True)}
        return {name: Counts(count, letters[name], first.get(name, "")) for name, count in self.counts.items()}


@dataclass(frozen=True, slots=True)
class Intake:
    """What a job's sources take.

    `most_bytes` : of a dead letter, `spec.maxRecordBytes`.
    `schemas` : source → its schema, of those that have one.
    `times_us` : what the job's Python functions take of the records' times, first and last; None if they get none.
    `decoding` : of the sources whose schemas are in a registry; None: there are none.
    """

    sources: Sequence[SourceSpec]
    most_bytes: int
    schemas: Mapping[str, DataType] = field(default_factory=dict)
    times_us: tuple[int, int] | None = None
    decoding: Decoding | None = None
    _of_topic: dict[str, SourceSpec] = field(init=False, default_factory=dict)
    _decimals: dict[str, DataType] = field(init=False, default_factory=dict)
    _times: dict[str, DataType] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._of_topic.update({topic: source for source in self.sources for topic in source.topics})
        self._decimals.update({n: schema for n, schema in self.schemas.items() if decimals.has_decimals(schema)})
        self._times.update({n: schema for n, schema in self.schemas.items() if clock_times.has_times(schema)})

    @property
    def schema(self) -> pa.Schema:
        """Of the batches."""
        schema = SCHEMA.append(HEADERS) if self._with_headers else SCHEMA
        return pa.schema([*schema, *(self.decoding.fields if self.decoding is not None else ())])

    @property
    def nothing(self) -> pa.RecordBatch:
        """A batch without any record."""
        return pa.RecordBatch.from_pylist([], schema=self.schema)

    @property
    def may_find_poison(self) -> bool:
        """Whether records may be found poison when they are read as their source's rows."""
        return any(source.format == "json" or source.table is not None for source in self.sources)

    def source(self, message: Message) -> SourceSpec:
        """The source that a record belongs to."""
        return self._of_topic[message.topic() or ""]

    def await_schemas(self, fetched: Fetched, wait: Wait) -> None:
        """To be called before `take`: the schemas that an epoch's records were written with are known then.

        Raises `RegistryTimeoutError`: the registry was away for too long; and what `wait` raises.
        """
        if self.decoding is not None:
            self.decoding.await_schemas([message for _, group in fetched.records for message in group], wait)

    def take(self, fetched: Fetched, refused: Mapping[Place, str] | None = None) -> EpochRecords:
        """An epoch's records. `refused`: those that are to become dead letters in any case, with the reason."""
        messages = in_order(fetched)
        reasons: dict[int, str] = {}
        headers = self._headers(messages, reasons) if self._with_headers else None
        batch = to_batch(fetched, messages, headers)
        if self.decoding is not None:
            decoded = self.decoding.columns(messages, reasons)
            batch = pa.record_batch([*batch.columns, *decoded], schema=self.schema)
        for seq, reason in (*self._no_objects(messages, batch), *_no_times(batch, messages, self.times_us)):
            reasons[seq] = reason
        if refused:
            places = {(m.topic() or "", m.partition() or 0, m.offset() or 0): seq for seq, m in enumerate(messages)}
            reasons |= {places[place]: reason for place, reason in refused.items() if place in places}
        if reasons:
            keep = np.ones(len(messages), dtype=bool)
            keep[list(reasons)] = False
            batch = batch.filter(pa.array(keep))
        counts = Counter[str]()
        for tp, group in fetched.records:
            counts[self._of_topic[tp.topic].name] += len(group)
        return EpochRecords(batch, messages, reasons, counts, self)

    @property
    def _with_headers(self) -> bool:
        return any(source.include_headers for source in self.sources)

    def _headers(self, messages: Sequence[Message], reasons: dict[int, str]) -> list[Sequence[Header] | None]:
        wanted = {topic for topic, source in self._of_topic.items() if source.include_headers}
        found: list[Sequence[Header] | None] = []
        for seq, message in enumerate(messages):
            headers: Any = None
            if message.topic() in wanted:
                try:
                    headers = readable_headers(message)
                except UnreadableHeaderError as error:
                    reasons[seq] = str(error)
            found.append(headers)
        return found

    def _no_objects(self, messages: Sequence[Message], batch: pa.RecordBatch) -> Iterator[tuple[int, str]]:
        """JSON records with more than an object, or a value that the parser is minutes busy with, or reads by its clock."""
        topics = {topic for topic, source in self._of_topic.items() if source.format == "json"}
        only_json = len(topics) == len(self._of_topic)
        for seq, message in enumerate(messages if topics else ()):
            if only_json or message.topic() in topics:
                value = message.value()
                if value and (place := text_behind(value)) is not None:
                    yield seq, TEXT_BEHIND.format(place=place)
        for seq, value, schema in self._of_schemas(messages, self._decimals, batch, decimals.suspects):
            if (number := decimals.oversized(value, schema)) is not None:
                yield seq, f"{number[:60]} is too large or too small a number for a DECIMAL"
        for seq, value, schema in self._of_schemas(messages, self._times, batch, clock_times.suspects):
            if (reason := clock_times.without_day(value, schema)) is not None:
                yield seq, reason

    def _of_schemas(
        self,
        messages: Sequence[Message],
        schemas: Mapping[str, DataType],
        batch: pa.RecordBatch,
        suspects: Callable[[pa.Array], Sequence[int]],
    ) -> Iterator[tuple[int, bytes, DataType]]:
        """The suspects among the records of these sources: `seq`, value and schema."""
        for seq in suspects(batch.column("value")) if schemas else ():
            schema, value = schemas.get(self.source(messages[seq]).name), messages[seq].value()
            if schema is not None and value:
                yield seq, value, schema


def _no_times(
    batch: pa.RecordBatch, messages: Sequence[Message], python: tuple[int, int] | None
) -> Iterator[tuple[int, str]]:
    micros = batch.column("timestamp").view(pa.int64()).to_numpy()
    first, last = python or (-_BOUNDS_US, _BOUNDS_US)
    for seq in np.flatnonzero((micros <= first) | (micros >= last)).tolist():
        time = messages[seq].timestamp()[1]
        if abs(time) > LATEST_MS:
            yield seq, f"its timestamp {time} (Unix, ms) is outside of what a TIMESTAMP can hold"
        elif python is not None:
            yield seq, f"its timestamp {time} (Unix, ms) is outside of what a Python function of the job can hold"


def _input(message: Message, source: str) -> InputRecord:
    topic, partition, offset = message.topic() or "", message.partition() or 0, message.offset() or 0
    return InputRecord(source, topic, partition, offset, message.timestamp()[1], message.key(), message.value())


def _replaced(table: pa.Table, mask: Any, letters: Sequence[tuple[bytes | None, bytes]]) -> pa.Table:
    """The rows of `mask` get the keys and values of `letters`."""
    for position, name in enumerate(("key", "value")):
        column = table[name].combine_chunks()
        new = pc.replace_with_mask(column, pa.array(mask), pa.array([one[position] for one in letters], column.type))
        table = table.set_column(table.column_names.index(name), table.schema.field(name), new)
    return table


def _appended(table: pa.Table, letters: Sequence[tuple[bytes | None, bytes]]) -> pa.Table:
    given = {
        "sink": [DEAD_LETTER_SINK] * len(letters),
        "key": [key for key, _ in letters],
        "value": [value for _, value in letters],
    }
    if not table.num_columns:
        types = {"sink": pa.string(), "key": pa.binary(), "value": pa.binary()}
        return pa.table({name: pa.array(values, types[name]) for name, values in given.items()})
    columns = [pa.array(given.get(f.name, [None] * len(letters)), f.type) for f in table.schema]
    return pa.concat_tables([table, pa.Table.from_arrays(columns, schema=table.schema)])
