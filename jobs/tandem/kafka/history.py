"""Finding one's place in the logs: the last marker, the markers after an epoch, the config."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import ReadTimeoutError
from tandem.kafka.metadata import learn
from tandem.protocol.codec import CodecError, decode_marker, decode_proposal
from tandem.protocol.decisions import Decisions
from tandem.protocol.values import Config, Cut, Marker

_T = TypeVar("_T", Config, Cut)
_NO_LEADER_YET = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)


def read_range(
    connection: KafkaConnection, topic: str, start: int, end: int, timeout_s: float
) -> list[tuple[int, bytes | None]]:
    """The committed records of partition 0 of `topic` with start <= offset < end, as (offset, value)."""
    if start >= end:
        return []
    deadline = time.monotonic() + timeout_s
    consumer = Consumer(connection.consumer())
    found: list[tuple[int, bytes | None]] = []
    try:
        learn(consumer, [topic])
        consumer.assign([TopicPartition(topic, 0, start)])
        while time.monotonic() < deadline:
            message = consumer.poll(0.05)
            if message is None:
                continue
            error, offset = message.error(), message.offset()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                continue
            if offset is not None and offset < end and error is None:
                found.append((offset, message.value()))
            if error is not None or (offset is not None and offset >= end - 1):
                return found
    finally:
        consumer.close()
    raise ReadTimeoutError(f"{topic}/0: offsets {start} to {end} were not read within {timeout_s:.1f} s")


def watermarks(connection: KafkaConnection, topic: str, timeout_s: float) -> tuple[int, int]:
    """First offset and end of partition 0 of `topic` (the end that a read_committed reader sees).

    The broker of a topic that was just made may not know yet that it leads it; it is asked until it does. Raises
    `KafkaException` if it still does not after `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    consumer = Consumer(connection.consumer())
    try:
        while True:
            learn(consumer, [topic])
            try:
                low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=timeout_s, cached=False)
            except KafkaException as error:
                if error.args[0].code() not in _NO_LEADER_YET or time.monotonic() > deadline:
                    raise
                consumer.poll(0.02)
            else:
                return low, high
    finally:
        consumer.close()


def markers_back_to(
    connection: KafkaConnection, topic: str, epoch: int | None, timeout_s: float = 30.0
) -> list[tuple[int, Marker]]:
    """The newest markers as (offset, marker), going back until one is not after `epoch` (None: until there is one).

    Reads backwards in windows that double, so that it costs little however long the topic has become.
    """
    low, high = watermarks(connection, topic, timeout_s)
    window = 64
    while True:
        start = max(low, high - window)
        records = read_range(connection, topic, start, high, timeout_s)
        markers = [(offset, decode_marker(value)) for offset, value in records]
        far_enough = bool(markers) and (epoch is None or markers[0][1].epoch <= epoch)
        if far_enough or start == low:
            return markers
        window *= 8


def last_marker(connection: KafkaConnection, topic: str) -> Marker | None:
    """The marker of the newest published epoch."""
    markers = markers_back_to(connection, topic, None)
    return max((marker for _, marker in markers), key=lambda marker: marker.epoch, default=None)


def first_config(connection: KafkaConnection, topic: str, timeout_s: float = 30.0) -> Config | None:
    """The job's identity: the first record of the ordering topic; None if the topic is empty."""
    low, high = watermarks(connection, topic, timeout_s)
    for _, value in read_range(connection, topic, low, min(high, low + 16), timeout_s):
        proposal = decode_proposal(value)
        if isinstance(proposal, Config):
            return proposal
    return None


def config_at(connection: KafkaConnection, topic: str, offset: int, timeout_s: float = 30.0) -> Config:
    """The config at `offset` of the ordering topic. Raises `ValueError` if there is none."""
    return _proposal_at(Config, connection, topic, offset, timeout_s)


def cut_at(connection: KafkaConnection, topic: str, offset: int, timeout_s: float = 30.0) -> Cut:
    """The cut at `offset` of the ordering topic. Raises `ValueError` if there is none."""
    return _proposal_at(Cut, connection, topic, offset, timeout_s)


def decisions_after(connection: KafkaConnection, topic: str, marker: Marker) -> Decisions:
    """The decisions of the log up to the cut of a published epoch; what comes after it is still to be read."""
    config = config_at(connection, topic, marker.config_offset)
    return Decisions.resumed(
        config, cut_at(connection, topic, marker.log_offset), marker.log_offset, marker.config_offset
    )


def current_config(connection: KafkaConnection, ordering: str, commits: str, timeout_s: float = 30.0) -> Config | None:
    """The config of the job's newest generation; None if it never ran."""
    marker = last_marker(connection, commits)
    low, high = watermarks(connection, ordering, timeout_s)
    decisions = Decisions() if marker is None else decisions_after(connection, ordering, marker)
    start = low if marker is None else marker.log_offset + 1
    for offset, value in read_range(connection, ordering, start, high, timeout_s):
        with suppress(CodecError):
            decisions.apply(decode_proposal(value), offset)
    return decisions.config


def _proposal_at(kind: type[_T], connection: KafkaConnection, topic: str, offset: int, timeout_s: float) -> _T:
    for _, value in read_range(connection, topic, offset, offset + 1, timeout_s):
        proposal = decode_proposal(value)
        if isinstance(proposal, kind):
            return proposal
    raise ValueError(f"{topic}/0: no {kind.__name__.lower()} at offset {offset}")
