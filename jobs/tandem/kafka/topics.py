"""Topics: making those of a job, checking those of its user, and asking where they end."""

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, ConfigResource, ResourceType, TopicMetadata
from confluent_kafka.admin import NewTopic as KafkaNewTopic

from tandem.kafka.admin import NO_ANSWER, Admin, Asked, beginnings_of, ends_of
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import (
    MissingTopicError,
    ReadTimeoutError,
    TopicMismatchError,
    UndeletedTopicError,
)
from tandem.kafka.troubles import TopicState
from tandem.logs import get_logger
from tandem.protocol.values import Offsets
from tandem.waiting import POLL_INTERVAL_S, rest_of

_log = get_logger(__name__)

_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create if it is not there. `is_log`: it must have exactly that many partitions, also if it was there."""

    name: str
    partitions: int = 1
    replication_factor: int = 1
    config: Mapping[str, str] = field(default_factory=dict)
    is_log: bool = False


KEPT_FOR_EVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


class Topics:
    """What Tandem asks of the brokers about topics. All times in seconds."""

    def __init__(self, connection: KafkaConnection, timeout_s: float = 10.0) -> None:
        self.connection = connection
        self._admin = Admin(connection, timeout_s)
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
        return {name: len(topic.partitions) for name, topic in self._admin.topics().items() if topic.error is None}

    def ids(self, names: Iterable[str]) -> dict[str, str]:
        """Kafka's ids of topics that are there and may be described; "": the brokers give none.

        Raises `ReadTimeoutError`.
        """
        wanted = sorted(set(names))
        if not wanted:
            return {}
        asked = self._admin.client.describe_topics(TopicCollection(wanted), request_timeout=self._timeout_s)
        found = {}
        for name, future in asked.items():
            try:
                number = str(future.result(self._timeout_s + 1).topic_id)
            except TimeoutError as error:
                raise ReadTimeoutError(f"no answer on the id of {name} within {self._timeout_s:.1f} s") from error
            except KafkaException as error:
                if error.args[0].code() in NO_ANSWER:
                    self._admin.not_answered()
                    raise ReadTimeoutError(f"no answer on the id of {name}: {error.args[0].str()}") from error
                _log.info("topic_id_unknown", topic=name, reason=error.args[0].str())
                continue
            found[name] = "" if number == _NO_ID else number
        return found

    def states(self, names: Iterable[str]) -> dict[str, TopicState]:
        """How those topics stand that are there. Raises `ConnectionFailedError`."""
        existing = self._admin.topics()
        return {name: _state(existing[name]) for name in names if name in existing and existing[name].partitions}

    def not_writable(self, names: Iterable[str]) -> frozenset[str]:
        """Those topics that the account may see, and may not write."""
        found = self._admin.client.describe_topics(TopicCollection(sorted(names)), include_authorized_operations=True)
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
            brokers = self._admin.client.list_topics(timeout=self._timeout_s).brokers
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
        asked = self._admin.client.describe_configs([ConfigResource(kind, name) for name in names]) if names else {}
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
        existing = self._admin.topics()
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
        made = self._admin.client.create_topics(
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
        for name, future in self._admin.client.delete_topics(wanted, operation_timeout=self._timeout_s).items():
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
            asked = time.monotonic()
            try:
                return self.partitions(names)
            except MissingTopicError:
                if time.monotonic() > deadline:
                    raise
                rest_of(POLL_INTERVAL_S, asked)

    def ends(self, topics: Asked, isolation_level: str = "read_committed", timeout_s: float | None = None) -> Offsets:
        """The end of the partitions of `topics`, in one request per broker.

        Raises `ReadTimeoutError`, `KafkaException`.
        """
        return ends_of(self._admin, topics, isolation_level, self._timeout_s if timeout_s is None else timeout_s)

    def beginnings(self, topics: Asked) -> Offsets:
        """The first offset that is still there of the partitions of `topics`."""
        return beginnings_of(self._admin, topics, self._timeout_s)


def _state(topic: TopicMetadata) -> TopicState:
    partitions = sorted(topic.partitions.items())
    return TopicState(
        min(len(found.replicas) for _, found in partitions),
        {number: len(found.isrs) for number, found in partitions},
        tuple(number for number, found in partitions if found.leader < 0),
    )
