"""The Kafka records that an epoch's rows become. Pure: a row that no topic could take becomes a dead letter."""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tandem.formats.encoding import UNFIT
from tandem.intake.letters import LEAST_BYTES
from tandem.kafka.headers import EPOCH_HEADER, INDEX_HEADER, JOB_HEADER
from tandem.kafka.records import OutputRecord
from tandem.replica.row_letters import encoded, row_json, row_letter
from tandem.replica.rows import EpochRows, plain
from tandem.replica.table_rows import unfit_for_delta
from tandem.topics.declared import TABLE_PREFIX, SinkTopics

_NAMELESS = "a header has no name, or one that is not UTF-8"
_CUT_NAME = "a header has a name with the character NUL (U+0000), where Kafka's clients for C would cut it"
_GOLDEN = 0x9E3779B1
"""2³² divided by the golden ratio (Knuth, The Art of Computer Programming 6.4)."""

Header = tuple[str, bytes | None]


def records_of(rows: EpochRows, sinks: SinkTopics, refused: Mapping[int, str] | None = None) -> list[OutputRecord]:
    """The records of all Kafka sinks, in order. Each carries the epoch, its index in it, and the job as headers.

    `refused` : index of a row → why the broker, or its table, did not take it; those become dead letters too.
    """
    return list(_records(rows, sinks, refused or {}))


_TOGETHER = 256
"""So many rows without a key go to one partition: a partition costs a transaction two requests, however few rows it gets."""


def first_partition(epoch: int, partitions: int) -> int:
    """Where the first rows without a key go; the next ones go on to the next partition, as a producer's do (KIP-480).

    The same for every replica and attempt. Multiples of the golden ratio fall evenly on the partitions, whether every epoch
    has rows or every second one: with the index alone, epochs of a single row would all go to partition 0.
    """
    return (epoch * _GOLDEN % 2**32) * partitions >> 32


def lanes_partition(key: bytes | None, number: int, sinks: SinkTopics, topic: str) -> int:
    """One of the lane's partitions of `topic`: the same for equal keys; for rows without one, by their `number`.

    Where producers have put the inputs' keys into partitions by the same hash, its remainder is the lane: what is left of it
    tells the lane's keys apart.
    """
    place = number if key is None else zlib.crc32(key) // sinks.lanes
    return sinks.lane + sinks.lanes * (place % (sinks.partitions[topic] // sinks.lanes))


def _records(rows: EpochRows, sinks: SinkTopics, refused: Mapping[int, str]) -> Iterator[OutputRecord]:
    table = rows.table
    if not table.num_rows:
        return
    epoch = str(rows.epoch).encode()
    job = [(JOB_HEADER, sinks.job.encode())] if sinks.job else []
    names = table.column_names
    nothing = [None] * table.num_rows
    partitions = table["partition"].to_pylist() if "partition" in names else nothing
    headers = plain(table["headers"]).to_pylist() if "headers" in names else nothing
    columns = (table[name].to_pylist() for name in ("sink", "key", "value"))
    letters_key = _letters_keys(sinks, rows.epoch)
    unfit = {**refused, **unfit_for_delta(table, sinks.deltas), **_unencoded(table)}
    first = {topic: first_partition(rows.epoch, count) for topic, count in sinks.partitions.items()}
    for index, (sink, key, value, partition, extra) in enumerate(zip(*columns, partitions, headers, strict=True)):
        topic = sinks.topics.get(sink)
        if topic is None and index not in unfit:
            continue  # a row of a table
        own = [(EPOCH_HEADER, epoch), (INDEX_HEADER, b"%d" % index), *job]
        users = _headers(extra) if extra else []
        if key is None and topic == sinks.dead_letter:
            key = letters_key(index)
        reason = unfit.get(index, "")
        if topic is not None:
            reason = reason or _unfit(topic, key, value, partition, users, sinks)
        if topic is None or reason or isinstance(users, str):
            row = (
                row_json(table[TABLE_PREFIX + sink], index) if topic is None and TABLE_PREFIX + sink in names else None
            )
            letter = encoded(row_letter(sink, rows.epoch, index, key, reason), row, sinks.max_record_bytes)
            yield OutputRecord(sinks.dead_letter, letters_key(index), letter, own, 0)
            continue
        if partition is None and sink in sinks.kept:
            partition = lanes_partition(key, first[topic] + index // _TOGETHER, sinks, topic)
        elif partition is None:
            partition = -1 if key is not None else (first[topic] + index // _TOGETHER) % sinks.partitions[topic]
        yield OutputRecord(topic, key, value, own + users if users else own, partition)


def _unencoded(table: pa.Table) -> dict[int, str]:
    """Index of a row that could not be encoded → why."""
    if UNFIT not in table.column_names:
        return {}
    return {index: reason for index, reason in enumerate(table[UNFIT].to_pylist()) if reason is not None}


def _unfit(
    topic: str,
    key: bytes | None,
    value: bytes | None,
    partition: int | None,
    headers: Sequence[Header] | str,
    sinks: SinkTopics,
) -> str:
    """Why the topic can never take such a record; "": it can. `headers`: the row's own, or what is wrong with one."""
    if isinstance(headers, str):
        return headers
    size = len(key or b"") + len(value or b"")
    if headers:
        size += sum(len(name.encode()) + len(content or b"") for name, content in headers)
    # A dead letter has its coordinates, however small the limit is: its topic is Tandem's own.
    if size > (max(sinks.max_record_bytes, LEAST_BYTES) if topic == sinks.dead_letter else sinks.max_record_bytes):
        return f"the record has {size} bytes, over spec.maxRecordBytes"
    if partition is not None and not 0 <= partition < sinks.partitions[topic]:
        return f"its partition is {partition}, but {topic} has {sinks.partitions[topic]}"
    if key is None and topic in sinks.compacted:
        return f"it has no key, but {topic} is compacted (cleanup.policy), which needs one"
    return ""


def _headers(given: Sequence[Mapping[str, Any] | None]) -> list[Header] | str:
    """A row's own headers, or why Kafka's clients could not write or read the name of one."""
    named = [(name, header["value"]) for header in given if header and (name := _text(header["key"])) is not None]
    if len(named) < len(given):
        return _NAMELESS
    return _CUT_NAME if any("\0" in name for name, _ in named) else named


def _text(content: bytes | None) -> str | None:
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None


def _letters_keys(sinks: SinkTopics, epoch: int) -> Callable[[int], bytes | None]:
    """The key of a letter by its row's index: none, or one that no other letter has, so that compaction keeps them all."""
    if sinks.dead_letter not in sinks.compacted:
        return lambda _: None
    return lambda index: f"{sinks.job}/{epoch}/{index}".encode()
