"""Where partitions begin and end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from confluent_kafka import IsolationLevel, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import OffsetSpec

from tandem.kafka.admin import NO_ANSWER, Admin
from tandem.kafka.errors import ReadTimeoutError
from tandem.protocol.values import Positions, TopicPartition

_STALE: Final = (
    KafkaError._NOENT,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
)


def ends_of(admin: Admin, topics: Mapping[str, int], isolation_level: str, timeout_s: float) -> Positions:
    """The end of every partition of `topics` (name → partitions), in one request per broker.

    Raises `ReadTimeoutError`, `KafkaException`.
    """
    return _offsets(admin, topics, OffsetSpec.latest(), isolation_level, timeout_s)  # type: ignore[no-untyped-call]


def beginnings_of(admin: Admin, topics: Mapping[str, int], timeout_s: float) -> Positions:
    """The first offset that is still there of every partition. Raises `ReadTimeoutError`, `KafkaException`."""
    return _offsets(admin, topics, OffsetSpec.earliest(), "read_uncommitted", timeout_s)  # type: ignore[no-untyped-call]


def _offsets(
    admin: Admin, topics: Mapping[str, int], spec: OffsetSpec, isolation_level: str, timeout_s: float
) -> Positions:
    committed = isolation_level == "read_committed"
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    asked = {KafkaTopicPartition(name, p): spec for name, count in topics.items() for p in range(count)}
    if not asked:
        return Positions()
    try:
        return _listed(admin, asked, level, timeout_s)
    except KafkaException as error:
        if error.args[0].code() not in _STALE:
            raise
    # The client keeps the leaders that it knew before a restart of the brokers until its metadata are old.
    for name in topics:
        admin.client.list_topics(name, timeout=timeout_s)
    return _listed(admin, asked, level, timeout_s)


def _listed(
    admin: Admin, asked: Mapping[KafkaTopicPartition, OffsetSpec], level: IsolationLevel, timeout_s: float
) -> Positions:
    answers = admin.client.list_offsets(dict(asked), isolation_level=level, request_timeout=timeout_s)
    names = ", ".join(sorted({tp.topic for tp in asked}))
    too_late = f"no answer on the offsets of {names} within {timeout_s:.1f} s"
    try:
        found = Positions(
            (TopicPartition(tp.topic, tp.partition), future.result(timeout_s).offset) for tp, future in answers.items()
        )
    except TimeoutError as error:
        admin.not_answered()
        raise ReadTimeoutError(too_late) from error
    except KafkaException as error:
        if error.args[0].code() in NO_ANSWER:
            admin.not_answered()
        if error.args[0].code() == KafkaError._TIMED_OUT:
            raise ReadTimeoutError(too_late) from error
        raise
    admin.answered()
    return found
