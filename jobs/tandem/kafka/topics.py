"""Topics: making those of a job, checking those of its user, and asking where they end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import IsolationLevel, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from confluent_kafka.admin import NewTopic as KafkaNewTopic

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import ConnectionFailedError, MissingTopicError, TopicMismatchError
from tandem.protocol.values import Positions, TopicPartition


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create if it is not there."""

    name: str
    partitions: int = 1
    replication_factor: int = 1
    config: Mapping[str, str] = field(default_factory=dict)


KEPT_FOR_EVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


class Topics:
    """What Tandem asks of the brokers about topics. All times in seconds."""

    def __init__(self, connection: KafkaConnection, timeout_s: float = 10.0) -> None:
        self._admin = AdminClient({**connection.admin()})
        self._timeout_s = timeout_s

    def partitions(self, names: Iterable[str]) -> dict[str, int]:
        """Number of partitions of each topic. Raises `MissingTopicError`, `ConnectionFailedError`."""
        try:
            existing = self._admin.list_topics(timeout=self._timeout_s).topics
        except KafkaException as error:
            raise ConnectionFailedError(
                f"no answer from Kafka within {self._timeout_s:.0f} s: {error.args[0].str()}. "
                "Check spec.kafka.bootstrapServers, and security.protocol and credentials in spec.kafka.properties"
            ) from error
        missing = sorted(name for name in names if name not in existing or existing[name].error is not None)
        if missing:
            raise MissingTopicError(
                f"topic {', '.join(missing)} does not exist. Create it, or correct its name in the manifest "
                "(Tandem creates only its own topics, and those of sinks)"
            )
        return {name: len(existing[name].partitions) for name in names}

    def ensure(self, topics: Iterable[NewTopic]) -> None:
        """Create the topics that are missing. One that exists with fewer partitions than asked is a mismatch only if 1 is
        asked (the logs of a job have exactly one). Raises `TopicMismatchError`, `KafkaException`."""
        wanted = {topic.name: topic for topic in topics}
        made = self._admin.create_topics(
            [KafkaNewTopic(t.name, t.partitions, t.replication_factor, config=dict(t.config)) for t in wanted.values()],
            operation_timeout=self._timeout_s,
        )
        for future in made.values():
            try:
                future.result(self._timeout_s)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
        logs = [name for name, topic in wanted.items() if topic.partitions == 1 and topic.config == KEPT_FOR_EVER]
        for name, count in self._visible(logs).items():
            if count != 1:
                raise TopicMismatchError(f"topic {name} has {count} partitions; a log of decisions must have exactly 1")

    def _visible(self, names: list[str]) -> dict[str, int]:
        """As `partitions`, for topics just made: brokers learn of them a moment after the controller has answered."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                return self.partitions(names)
            except MissingTopicError:
                if time.monotonic() > deadline:
                    raise

    def ends(
        self, topics: Mapping[str, int], isolation_level: str = "read_committed", timeout_s: float | None = None
    ) -> Positions:
        """The end of every partition of `topics` (name → partitions), in one request per broker."""
        return self._offsets(topics, OffsetSpec.latest(), isolation_level, timeout_s)  # type: ignore[no-untyped-call]

    def beginnings(self, topics: Mapping[str, int]) -> Positions:
        """The first offset that is still there of every partition."""
        return self._offsets(topics, OffsetSpec.earliest(), "read_uncommitted", None)  # type: ignore[no-untyped-call]

    def _offsets(
        self, topics: Mapping[str, int], spec: OffsetSpec, isolation_level: str, timeout_s: float | None
    ) -> Positions:
        committed = isolation_level == "read_committed"
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        asked = {KafkaTopicPartition(name, p): spec for name, count in topics.items() for p in range(count)}
        if not asked:
            return Positions()
        timeout = self._timeout_s if timeout_s is None else timeout_s
        answers = self._admin.list_offsets(asked, isolation_level=level, request_timeout=timeout)
        return Positions(
            (TopicPartition(tp.topic, tp.partition), future.result(timeout).offset) for tp, future in answers.items()
        )
