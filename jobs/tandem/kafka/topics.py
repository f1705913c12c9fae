"""Topics: making those of a job, checking those of its user, and asking where they end."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, ConfigResource, OffsetSpec, ResourceType, TopicMetadata
from confluent_kafka.admin import NewTopic as KafkaNewTopic

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import (
    ConnectionFailedError,
    MissingTopicError,
    ReadTimeoutError,
    TopicMismatchError,
    UndeletedTopicError,
)
from tandem.kafka.troubles import TopicState
from tandem.logs import get_logger
from tandem.protocol.values import Positions, TopicPartition

_log = get_logger(__name__)

_REFUSED = (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._SSL)
_STALE = (
    KafkaError._NOENT,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
)
_NO_ANSWER = (KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN)
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
_PATIENCE = 3
_ROUND_S = 0.5


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create if it is not there. `is_log`: it must have exactly so many partitions, whoever made it."""

    name: str
    partitions: int = 1
    replication_factor: int = 1
    config: Mapping[str, str] = field(default_factory=dict)
    is_log: bool = False


KEPT_FOR_EVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


class Topics:
    """What Tandem asks of the brokers about topics. All times in seconds.

    Where nobody answers three times in a row, another client is tried the next time: this one may have forgotten where the
    brokers are (`BrokerWatch`).
    """

    def __init__(self, connection: KafkaConnection, timeout_s: float = 10.0) -> None:
        self.connection = connection
        self._refused: KafkaError | None = None
        self._config: dict[str, Any] = {**connection.admin(), "error_cb": self._on_error}
        self._admin = AdminClient(self._config)
        self._unanswered = 0
        self._servers = connection.properties.get("bootstrap.servers", "")
        self._timeout_s = timeout_s

    def partitions(self, names: Iterable[str]) -> dict[str, int]:
        """Number of partitions of each topic. Raises `MissingTopicError`, `ConnectionFailedError`."""
        wanted, existing = set(names), self.all()
        missing = sorted(wanted - existing.keys())
        if missing:
            raise MissingTopicError(
                f"topic {', '.join(missing)} does not exist. Create it, or correct its name in the manifest "
                "(Tandem creates only its own topics); if it is there, give the account the right Describe on it"
            )
        return {name: existing[name] for name in wanted}

    def all(self) -> dict[str, int]:
        """Number of partitions of every topic that is there. Raises `ConnectionFailedError`."""
        return {name: len(topic.partitions) for name, topic in self._existing().items() if topic.error is None}

    def ids(self, names: Iterable[str]) -> dict[str, str]:
        """Kafka's ids of topics that are there and may be described; "": the brokers give none.

        Raises `ReadTimeoutError`.
        """
        wanted = sorted(set(names))
        if not wanted:
            return {}
        asked = self._admin.describe_topics(TopicCollection(wanted), request_timeout=self._timeout_s)
        found = {}
        for name, future in asked.items():
            try:
                number = str(future.result(self._timeout_s + 1).topic_id)
            except TimeoutError as error:
                raise ReadTimeoutError(f"no answer on the id of {name} within {self._timeout_s:.1f} s") from error
            except KafkaException as error:
                if error.args[0].code() in _NO_ANSWER:
                    self._not_answered()
                    raise ReadTimeoutError(f"no answer on the id of {name}: {error.args[0].str()}") from error
                _log.info("topic_id_unknown", topic=name, reason=error.args[0].str())
                continue
            found[name] = "" if number == _NO_ID else number
        return found

    def _existing(self) -> Mapping[str, TopicMetadata]:
        """All topics. Wrong credentials are told at once: the client itself would go on trying."""
        deadline = time.monotonic() + self._timeout_s
        self._refused = None
        while True:
            left = deadline - time.monotonic()
            try:
                return self._admin.list_topics(timeout=max(0.01, min(left, _ROUND_S))).topics
            except KafkaException as error:
                self._admin.poll(0)
                if self._refused is not None:
                    raise ConnectionFailedError(
                        f"Kafka at {self._servers} refused the connection: {self._refused.str()}. Check security.protocol "
                        "and the credentials in spec.kafka.properties and spec.kafka.secretProperties"
                    ) from error
                if left <= _ROUND_S:
                    self._not_answered()
                    raise ConnectionFailedError(
                        f"no answer from Kafka at {self._servers} within {self._timeout_s:.0f} s: {error.args[0].str()}. "
                        "Check spec.kafka.bootstrapServers, and security.protocol in spec.kafka.properties"
                    ) from error

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in _REFUSED:
            self._refused = error

    def states(self, names: Iterable[str]) -> dict[str, TopicState]:
        """How those topics stand that are there. Raises `ConnectionFailedError`."""
        existing = self._existing()
        return {name: _state(existing[name]) for name in names if name in existing and existing[name].partitions}

    def not_writable(self, names: Iterable[str]) -> frozenset[str]:
        """Those topics that the account may see, and may not write."""
        found = self._admin.describe_topics(TopicCollection(sorted(names)), include_authorized_operations=True)
        refused = set()
        for name, future in found.items():
            with suppress(KafkaException, TimeoutError):
                allowed = future.result(self._timeout_s).authorized_operations
                if allowed and not {AclOperation.WRITE, AclOperation.ALL} & set(allowed):
                    refused.add(name)
        return frozenset(refused)

    def broker_settings(self) -> dict[str, str]:
        """Settings of one broker, as far as we are allowed to see them: the defaults of topics."""
        try:
            brokers = self._admin.list_topics(timeout=self._timeout_s).brokers
        except KafkaException as error:
            _log.info("broker_settings_unknown", reason=str(error))
            return {}
        found = self._described(ResourceType.BROKER, [str(broker) for broker in sorted(brokers)[:1]])
        return next(iter(found.values()), {})

    def message_limits(self, names: Iterable[str]) -> dict[str, int]:
        """`max.message.bytes` of topics, as far as we are allowed to see it."""
        found = self.settings(names)
        return {
            name: int(settings["max.message.bytes"])
            for name, settings in found.items()
            if "max.message.bytes" in settings
        }

    def settings(self, names: Iterable[str]) -> dict[str, dict[str, str]]:
        """All settings of topics, defaults included, as far as we are allowed to see them."""
        return self._described(ResourceType.TOPIC, sorted(set(names)))

    def _described(self, kind: ResourceType, names: list[str]) -> dict[str, dict[str, str]]:
        asked = self._admin.describe_configs([ConfigResource(kind, name) for name in names]) if names else {}
        found = {}
        for resource, future in asked.items():
            try:
                entries = future.result(self._timeout_s)
            except (KafkaException, TimeoutError) as error:
                _log.info(f"{kind.name.lower()}_settings_unknown", name=resource.name, reason=str(error))
                continue
            found[resource.name] = {name: entry.value for name, entry in entries.items() if entry.value is not None}
        return found

    def ensure(self, topics: Iterable[NewTopic]) -> None:
        """Create the topics that are missing: where none is, that needs no right to create any.

        One that exists with other partitions than asked is a mismatch only if it is a log, which has exactly one.

        Raises `TopicMismatchError`, `ReadTimeoutError`, `ConnectionFailedError`, `KafkaException`.
        """
        wanted = {topic.name: topic for topic in topics}
        existing = self._existing()
        self._create([topic for topic in wanted.values() if topic.name not in existing])
        logs = [name for name, topic in wanted.items() if topic.is_log]
        for name, count in self._visible(logs).items():
            if count != wanted[name].partitions:
                raise TopicMismatchError(
                    f"topic {name} has {count} partitions; a log of decisions must have exactly 1. Delete it if it is of no "
                    "use, or name another one in spec.kafka.topics"
                )

    def _create(self, missing: list[NewTopic]) -> None:
        if not missing:
            return
        made = self._admin.create_topics(
            [KafkaNewTopic(t.name, t.partitions, t.replication_factor, config=dict(t.config)) for t in missing],
            operation_timeout=self._timeout_s,
        )
        for name, future in made.items():
            try:
                future.result(self._timeout_s)
            except TimeoutError as error:
                raise ReadTimeoutError(f"topic {name} was not created within {self._timeout_s:.0f} s") from error
            except KafkaException as error:
                reason = error.args[0]
                if reason.code() == KafkaError.TOPIC_ALREADY_EXISTS:
                    continue  # another process of the job was quicker
                if reason.retriable() or reason.code() == KafkaError._TIMED_OUT:
                    raise
                raise TopicMismatchError(
                    f"topic {name} cannot be created: {reason.str()}. Correct that (spec.kafka.replicationFactor, "
                    "permissions) or create the topic"
                ) from error

    def delete(self, names: Iterable[str]) -> None:
        """Delete topics, with all that is in them; one that is gone already is a success.

        Raises `UndeletedTopicError` after all others are deleted, `ReadTimeoutError`.
        """
        wanted = sorted(set(names))
        if not wanted:
            return
        refused = []
        for name, future in self._admin.delete_topics(wanted, operation_timeout=self._timeout_s).items():
            try:
                future.result(self._timeout_s)
            except TimeoutError as error:
                raise ReadTimeoutError(f"topic {name} was not deleted within {self._timeout_s:.0f} s") from error
            except KafkaException as error:
                reason = error.args[0]
                if reason.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    refused.append(f"{name}: {reason.str()}")
        if refused:
            raise UndeletedTopicError(
                f"topics cannot be deleted: {'; '.join(refused)}. The account needs the right to delete them, and the "
                "brokers delete.topic.enable=true"
            )

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
        """The end of every partition of `topics` (name → partitions), in one request per broker.

        Raises `ReadTimeoutError`, `KafkaException`.
        """
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
        try:
            return self._listed(asked, level, timeout)
        except KafkaException as error:
            if error.args[0].code() not in _STALE:
                raise
        # The client keeps the leaders that it knew before a restart of the brokers until its metadata are old.
        for name in topics:
            self._admin.list_topics(name, timeout=timeout)
        return self._listed(asked, level, timeout)

    def _listed(
        self, asked: Mapping[KafkaTopicPartition, OffsetSpec], level: IsolationLevel, timeout: float
    ) -> Positions:
        answers = self._admin.list_offsets(dict(asked), isolation_level=level, request_timeout=timeout)
        names = ", ".join(sorted({tp.topic for tp in asked}))
        too_late = f"no answer on the offsets of {names} within {timeout:.1f} s"
        try:
            found = Positions(
                (TopicPartition(tp.topic, tp.partition), future.result(timeout).offset)
                for tp, future in answers.items()
            )
        except TimeoutError as error:
            self._not_answered()
            raise ReadTimeoutError(too_late) from error
        except KafkaException as error:
            if error.args[0].code() in _NO_ANSWER:
                self._not_answered()
            if error.args[0].code() == KafkaError._TIMED_OUT:
                raise ReadTimeoutError(too_late) from error
            raise
        self._unanswered = 0
        return found

    def _not_answered(self) -> None:
        self._unanswered += 1
        if self._unanswered >= _PATIENCE:
            self._admin, self._unanswered = AdminClient(self._config), 0


def _state(topic: TopicMetadata) -> TopicState:
    partitions = sorted(topic.partitions.items())
    return TopicState(
        min(len(found.replicas) for _, found in partitions),
        {number: len(found.isrs) for number, found in partitions},
        tuple(number for number, found in partitions if found.leader < 0),
    )
