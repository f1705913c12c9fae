"""Reading one-partition topics from an offset on, and to an end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import LostInputError, UnreadableInputError
from tandem.kafka.patience import AGAIN_S, PATIENCE_S, Absences, is_absence
from tandem.kafka.probe import EndProbe
from tandem.kafka.topics import Topics
from tandem.kafka.workarounds import BrokerWatch, learn
from tandem.logs import get_logger

_log = get_logger(__name__)

_BATCH = 1_000
_ASKED_S = 2.0


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a log: where it stands, its value, and its timestamp (Unix, ms)."""

    topic: str
    offset: int
    value: bytes | None
    timestamp_ms: int


class LogTail:
    """Follows the only partition of one or more topics, each from an offset of its own.

    `starts` : topic → the first offset to read.
    `patience_s` : how long a topic may be away that was there.
    """

    def __init__(self, connection: KafkaConnection, starts: Mapping[str, int], patience_s: float = PATIENCE_S) -> None:
        self._connection = connection
        self._next = dict(starts)
        self._absences = Absences(Topics(connection, _ASKED_S), patience_s)
        self._open()

    def __enter__(self) -> LogTail:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    @property
    def next_offsets(self) -> Mapping[str, int]:
        """Of each topic, the offset that is read next."""
        return self._next

    @property
    def is_behind(self) -> bool:
        """Whether the brokers are known to have records that were not read yet; they are not asked for news.

        Also before they have said for the first time where the topics end.
        """
        return any(not 0 <= self._end_of(topic) <= offset for topic, offset in self._next.items())

    def _end_of(self, topic: str) -> int:
        end: int = self._consumer.get_watermark_offsets(TopicPartition(topic, 0), cached=True)[1]
        return end  # negative: no broker has said yet

    def poll(self, timeout_s: float) -> list[Record]:
        """What has arrived; waits up to `timeout_s` for the first record.

        Raises `LostInputError`, `MissingTopicError` for a topic that is not there any more, and does not come back.
        """
        self._look_for_topics()
        first = self._consumer.poll(timeout_s)
        if first is None:
            if self._watch.forgot_all:
                _log.warning("brokers_forgotten", topics=sorted(self._next))
                self._open_again()
            return []
        return [record for message in (first, *self._consumer.consume(_BATCH, 0)) for record in self._take(message)]

    def _look_for_topics(self) -> None:
        """A reader that goes on by itself says in its statistics which topics are away, and nothing else of it."""
        unknown = self._watch.unknown
        if unknown or (unknown is not None and self._absences.are_some):  # asked with each record
            self._absences.missed(unknown)
            for topic in self._next.keys() - unknown - self._ended:
                self._absences.seen(topic)
        if self._ended and time.monotonic() - self._opened_s >= AGAIN_S:
            self._open_again()

    def _open_again(self) -> None:
        self._consumer.close()
        self._open()

    def _open(self) -> None:
        self._opened_s = time.monotonic()
        self._ended = set[str]()
        self._topics = Topics(self._connection)
        self._watch = BrokerWatch()
        self._consumer = Consumer(self._connection.consumer() | self._watch.settings)
        learn(self._consumer, self._next)
        self._consumer.assign([TopicPartition(topic, 0, offset) for topic, offset in self._next.items()])

    def ends(self, timeout_s: float) -> dict[str, int]:
        """Where the topics end now, open transactions included. Raises `ReadTimeoutError`."""
        # The high watermark, not the end that a read_committed reader is shown: an open transaction is waited for.
        ends = self._topics.ends(dict.fromkeys(self._next, 1), "read_uncommitted", timeout_s)
        return {tp.topic: end for tp, end in ends.items()}

    def probe(self) -> EndProbe:
        """What finds out faster than this what is left to read before an end."""
        return EndProbe(self._connection, tuple(self._next))

    def _take(self, message: Message) -> Iterator[Record]:
        topic, offset, error = message.topic() or "", message.offset(), message.error()
        if error is None:
            self._absences.seen(topic)
            if offset is not None and offset >= self._next[topic]:
                self._next[topic] = offset + 1
                yield Record(topic, offset, message.value(), message.timestamp()[1])
        elif error.code() == KafkaError._PARTITION_EOF:
            # Control records at the end of a partition are never delivered; the end of the partition counts them.
            self._next[topic] = max(self._next[topic], offset or 0)
            self._absences.seen(topic)
        elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise LostInputError(f"{topic}/0: offset {self._next.get(topic)} is no longer there ({error.str()})")
        elif is_absence(error):
            self._ended.add(topic)
            self._absences.missed([topic])
        elif error.fatal() or not is_transient(error):
            raise KafkaException(error)


def is_transient(error: KafkaError) -> bool:
    """Errors that the consumer gets over by itself."""
    return error.retriable() or error.code() in (
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TIMED_OUT,
        KafkaError._RESOLVE,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    )


_UNREADABLE = (KafkaError._BAD_COMPRESSION, KafkaError._BAD_MSG)


def check_readable(place: str, error: KafkaError) -> None:
    """Raise `UnreadableInputError` if an error of an input says so. `place`: topic/partition."""
    if error.code() in _UNREADABLE:
        raise UnreadableInputError(
            f"{place}: a batch of records cannot be read: {error.str()}. It is damaged, or larger than the client unpacks "
            "(2 GiB, or receive.message.max.bytes of spec.kafka.properties if that is given). Nothing was skipped: raise "
            "that, or have the topic restored from another replica of it or its records written again; or give the job "
            "another metadata.name"
        )


def may_come_back(error: KafkaError) -> bool:
    """Errors of an input that a new consumer gets over: one metadata answer without the topic ends librdkafka's reading."""
    return is_transient(error) or is_absence(error)
