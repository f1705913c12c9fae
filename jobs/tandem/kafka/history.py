"""Finding one's place in the logs: the last marker, the markers after an epoch, the config."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import LostInputError, MissingProposalError, ReadTimeoutError
from tandem.kafka.workarounds import learn
from tandem.logs import get_logger
from tandem.protocol.codec import CodecError, decode_marker, decode_proposal
from tandem.protocol.decisions import Decisions
from tandem.protocol.values import Config, Cut, Marker

_log = get_logger(__name__)

_T = TypeVar("_T", Config, Cut)
_D = TypeVar("_D")
_Read = tuple[int, bytes | None]
_NO_LEADER_YET = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)


def read_range(connection: KafkaConnection, topic: str, start: int, end: int, timeout_s: float) -> list[_Read]:
    """The committed records of partition 0 of `topic` with start <= offset < end, as (offset, value).

    Raises `LostInputError` if `start` is not there, `ReadTimeoutError`.
    """
    if start >= end:
        return []
    deadline = time.monotonic() + timeout_s
    consumer = Consumer(connection.consumer())
    found: list[_Read] = []
    try:
        learn(consumer, [topic])
        consumer.assign([TopicPartition(topic, 0, start)])
        while time.monotonic() < deadline:
            message = consumer.poll(0.05)
            if message is None:
                continue
            error, offset = message.error(), message.offset()
            if error is not None and error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
                raise LostInputError(f"{topic}/0: no record at offset {start}: {_OTHER_LOG}")
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                continue
            if offset is not None and offset < end and error is None:
                found.append((offset, message.value()))
            if error is not None or (offset is not None and offset >= end - 1):
                return found
    finally:
        consumer.close()
    raise ReadTimeoutError(f"{topic}/0: offsets {start} to {end} were not read within {timeout_s:.1f} s")


def watermarks(
    connection: KafkaConnection, topic: str, timeout_s: float, isolation_level: str = "read_committed"
) -> tuple[int, int]:
    """First offset and end of partition 0 of `topic`, the end that a reader of `isolation_level` sees.

    The broker of a topic that was just made may not know yet that it leads it; it is asked until it does. Raises
    `KafkaException` if it still does not after `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    consumer = Consumer(connection.consumer(isolation_level))
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
    """The newest markers as (offset, marker), going back to the first one of `epoch` (None: until there is one).

    Reads backwards in windows that grow, so that it costs little however long the topic has become.
    """
    low, high = watermarks(connection, topic, timeout_s)
    window = 64
    while True:
        start = max(low, high - window)
        records = read_range(connection, topic, start, high, timeout_s)
        markers = list(_decoded(topic, records, decode_marker))
        far_enough = bool(markers) and (epoch is None or _is_whole_from(epoch, [marker for _, marker in markers]))
        if far_enough or start == low:
            return markers
        window *= 8


def _is_whole_from(epoch: int, markers: Iterable[Marker]) -> bool:
    """Whether they have the marker of `epoch`, and behind it that of every later epoch, as far as they go.

    At least and at most once a marker may come again, long after it: one of `epoch`, or of an epoch before it, does not
    show that the first one of `epoch` is among them.
    """
    wanted = epoch
    for marker in markers:
        if marker.epoch > wanted:
            return False
        if marker.epoch == wanted:
            wanted += 1
    return True


def _decoded(topic: str, records: Iterable[_Read], decode: Callable[[bytes | None], _D]) -> Iterator[tuple[int, _D]]:
    """Those of the records that are ours; what somebody else wrote is passed over."""
    for offset, value in records:
        try:
            yield offset, decode(value)
        except CodecError as error:
            _tell_foreign(topic, offset, str(error))


@lru_cache
def _tell_foreign(topic: str, offset: int, reason: str) -> None:
    """Once for each record: the end of a log is read again and again."""
    _log.error("foreign_record", topic=topic, offset=offset, reason=reason)


def last_marker(connection: KafkaConnection, topic: str) -> Marker | None:
    """The marker of the newest published epoch."""
    markers = markers_back_to(connection, topic, None)
    return max((marker for _, marker in markers), key=lambda marker: marker.epoch, default=None)


def config_at(connection: KafkaConnection, topic: str, offset: int, timeout_s: float = 30.0) -> Config:
    """The config at `offset` of the ordering topic. Raises `LostInputError` if there is none."""
    return _proposal_at(Config, connection, topic, offset, timeout_s)


def cut_at(connection: KafkaConnection, topic: str, offset: int, timeout_s: float = 30.0) -> Cut:
    """The cut at `offset` of the ordering topic. Raises `LostInputError` if there is none."""
    return _proposal_at(Cut, connection, topic, offset, timeout_s)


def decisions_after(connection: KafkaConnection, topic: str, marker: Marker) -> Decisions:
    """The decisions of the log up to the cut of a published epoch; what comes after it is still to be read."""
    config = config_at(connection, topic, marker.config_offset)
    return Decisions.resumed(
        config, cut_at(connection, topic, marker.log_offset), marker.log_offset, marker.config_offset
    )


def current_config(connection: KafkaConnection, ordering: str, commits: str, timeout_s: float = 30.0) -> Config | None:
    """The config of the job's newest generation; None if it never ran."""
    return current_decisions(connection, ordering, commits, timeout_s).config


def current_decisions(connection: KafkaConnection, ordering: str, commits: str, timeout_s: float = 30.0) -> Decisions:
    """All that the log has decided after the last published epoch."""
    marker = last_marker(connection, commits)
    low, high = watermarks(connection, ordering, timeout_s)
    decisions = Decisions() if marker is None else decisions_after(connection, ordering, marker)
    start = low if marker is None else marker.log_offset + 1
    records = read_range(connection, ordering, start, high, timeout_s)
    for offset, proposal in _decoded(ordering, records, decode_proposal):
        decisions.apply(proposal, offset)
    return decisions


def _proposal_at(kind: type[_T], connection: KafkaConnection, topic: str, offset: int, timeout_s: float) -> _T:
    records = read_range(connection, topic, offset, offset + 1, timeout_s)
    for _, proposal in _decoded(topic, records, decode_proposal):
        if isinstance(proposal, kind):
            return proposal
    raise MissingProposalError(f"{topic}/0: no {kind.__name__.lower()} at offset {offset}: {_OTHER_LOG}")


_OTHER_LOG = (
    "the job's state, or its commits topic, relies on one there. The topic was deleted and created again, or lost records. "
    "The job cannot go on from there: restore the topic, or give the job another metadata.name"
)
