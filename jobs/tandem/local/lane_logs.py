"""The logs of a job's lanes when the number of lanes changes: read to their ends, then written in one Kafka transaction.

The transaction is the change: before it is committed the lanes are what they were, and after it they are the new ones. What
is written into a log stands at an offset that was known before, or the transaction is given up: so nobody has written there
in between, and no owner of an epoch that was not known is left.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import MissingTopicError
from tandem.kafka.fencing import Fencer
from tandem.kafka.history import current_decisions, last_marker, watermarks
from tandem.kafka.producer import Producer
from tandem.kafka.topics import Topics
from tandem.manifest import Manifest
from tandem.process.info import RefusedError
from tandem.protocol.codec import encode_marker, encode_proposal
from tandem.protocol.decisions import Decisions
from tandem.protocol.lanes import (
    Boundary,
    LogRead,
    MovedLane,
    ends_of,
    is_taken_over,
    marker,
    taking_over,
    unpublished_owners,
)
from tandem.protocol.values import Claim
from tandem.topics.declared import LogTopics, ensure_topics, names_for

TIMEOUT_S = 30.0
START_ALL = "start all lanes of the job once as they were"
_TRANSACTION_MS = 60_000
_REPLICA = "replica-0"
_RUNS = (
    "something of the job still runs, on this machine or another, and has written into its logs just now. Stop it first"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneLog(LogRead):
    """The log of a lane that has run."""

    lane: Manifest


class LaneLogs:
    """The logs of all lanes, before and after. Nobody else may write them: `writer` is the transactional id.

    Raises `TandemKafkaError`, `KafkaException`.
    """

    def __init__(self, connection: KafkaConnection, writer: str) -> None:
        self.connection = connection
        self._writer = writer
        self._producer = Producer(
            connection.transactional(writer, _TRANSACTION_MS) | {"delivery.report.only.error": False}
        )
        self._producer.init_transactions(TIMEOUT_S)  # what an earlier try has left open is given up

    def read(self, lane: Manifest) -> LaneLog:
        """The log of a lane before. What is claimed and not published is taken over first. Raises `RefusedError`."""
        before = log_of(lane, self.connection)
        owners = unpublished_owners(before.decisions, before.published) - {self._writer}
        if lane.spec.delivery != "exactlyOnce":
            check_published(before, owners)
            return before
        self._claim(_logs(lane).ordering, taking_over(before.decisions, before.published, self._writer))
        fencer = Fencer(self.connection)
        for owner in sorted(owners):
            fencer.fence(owner, TIMEOUT_S)
        found = log_of(lane, self.connection)
        if not is_taken_over(found.decisions, found.published, self._writer, owners):
            raise RefusedError(f"the number of lanes was not changed: {_RUNS}")
        return found

    def _claim(self, topic: str, claims: Sequence[Claim]) -> None:
        if claims:
            written = _Written(Producer(self.connection.appender()))
            for claim in claims:
                written.add(topic, encode_proposal(claim))
            written.flush()

    def make(self, lane: Manifest) -> Decisions:
        """The log of a lane after, which is made if need be: what it decided when there was such a lane before."""
        ensure_topics(Topics(self.connection), lane, _REPLICA)
        topics = _logs(lane)
        return current_decisions(self.connection, topics.ordering, topics.commits)

    def end(self, lane: Manifest) -> int:
        """The offset of the next record of a lane's ordering topic."""
        return _end(lane, self.connection)

    def write(
        self,
        moved: Sequence[tuple[Manifest, MovedLane]],
        ends: Mapping[str, int],
        boundary: Boundary,
        time_ms: int,
        step: Callable[[str], None],
    ) -> None:
        """Let all logs go on with the new lanes, or end. `ends`: lane → offset of the next record of its ordering topic.

        `time_ms` : of the boundary (Unix, ms). `step`: called before the end.

        Raises `RefusedError` if somebody else writes these logs: nothing has changed then.
        """
        producer = self._producer
        try:
            producer.begin_transaction()
            written = _Written(producer)
            for lane, one in moved:
                topic = _logs(lane).ordering
                written.add(topic, encode_proposal(one.config(boundary, self._writer)))
                if one.lane is not None:
                    written.add(topic, encode_proposal(one.cut(boundary, self._writer, time_ms)))
            offsets = written.flush()
            for lane, one in moved:
                topics = _logs(lane)
                first = ends[lane.name]
                if offsets[topics.ordering] != list(range(first, first + (1 if one.lane is None else 2))):
                    raise RefusedError(f"the number of lanes was not changed: {_RUNS}")
                if one.lane is not None:
                    owner = f"{lane.name}.lanes.{boundary.generation}"
                    written.add(topics.commits, encode_marker(marker(boundary, owner, first, first + 1)))
            written.flush()
            step("the logs of all lanes are written, and not committed yet")
            producer.commit_transaction(TIMEOUT_S)
        except BaseException:
            with suppress(KafkaException):
                producer.abort_transaction(TIMEOUT_S)
            raise


def check_published(log: LaneLog, owners: Collection[str]) -> None:
    """Raise `RefusedError` if rows may be out whose epoch is not published: without transactions nobody knows.

    New lanes would compute them again, at most once as well, and in other epochs, so that no consumer could drop them.
    """
    if owners:
        raise RefusedError(
            f"{log.lane.name} has claimed epoch {log.published + 1:,} and not published it, and with spec.delivery: "
            f"{log.lane.spec.delivery} its rows may be out: {START_ALL}, and stop it when all lanes have published"
        )


def log_of(lane: Manifest, connection: KafkaConnection) -> LaneLog:
    """The log of a lane as it is now; nobody is fenced. Raises `RefusedError`, `TandemKafkaError`, `KafkaException`."""
    topics = _logs(lane)
    try:
        Topics(connection).partitions([topics.ordering, topics.commits])
    except MissingTopicError:
        raise RefusedError(f"{lane.name} has not run yet: {START_ALL}") from None
    end = _end(lane, connection)
    log, published = current_decisions(connection, topics.ordering, topics.commits), _published(topics, connection)
    if log.config is None:
        raise RefusedError(f"{lane.name} has not run yet: {START_ALL}")
    return LaneLog(log, log.config, published, ends_of(log, published), end, lane=lane)


def _end(lane: Manifest, connection: KafkaConnection) -> int:
    return watermarks(connection, _logs(lane).ordering, TIMEOUT_S, "read_uncommitted")[1]


def _published(topics: LogTopics, connection: KafkaConnection) -> int:
    last = last_marker(connection, topics.commits)
    return -1 if last is None else last.epoch


def connection_of(job: Manifest) -> KafkaConnection:
    """How to reach the job's brokers."""
    return KafkaConnection(job.kafka_properties(os.environ)).silent


class _Written:
    """Records of the first partition of topics, and the offsets that they were given."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self._offsets: dict[str, list[int]] = {}
        self._failures: list[KafkaError] = []

    def add(self, topic: str, value: bytes) -> None:
        self._offsets.setdefault(topic, [])
        self._producer.produce(topic, value, partition=0, on_delivery=partial(self._delivered, topic))

    def _delivered(self, topic: str, error: KafkaError | None, message: Message) -> None:
        offset = message.offset()
        if error is not None:
            self._failures.append(error)
        elif offset is not None:
            self._offsets[topic].append(offset)

    def flush(self) -> dict[str, list[int]]:
        """Wait until all are there; the offsets by topic."""
        left = self._producer.flush(TIMEOUT_S)
        if left or self._failures:
            raise KafkaException(self._failures[0] if self._failures else KafkaError(KafkaError._TIMED_OUT))
        return self._offsets


def _logs(lane: Manifest) -> LogTopics:
    """All its replicas have the same: with `ordering.mode: none` the number of lanes cannot change."""
    return names_for(lane, _REPLICA)
