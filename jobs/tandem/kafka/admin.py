"""An admin client that says at once when it is refused, and gives way to another when nobody answers it; and with it, where
partitions begin and end.
"""

import time
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import IsolationLevel, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec, TopicMetadata

from tandem.kafka.client import KafkaConnection
from tandem.kafka.client_log import without_times
from tandem.kafka.errors import ConnectionFailedError, ReadTimeoutError
from tandem.protocol.values import Offsets, TopicPartition

NO_ANSWER: Final = (KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN)
"""The codes of errors that say that no broker has answered."""

_UNREACHED: Final = (KafkaError._TRANSPORT, KafkaError._RESOLVE)
_REFUSED: Final = (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._SSL)
_PATIENCE: Final = 3
_ROUND_S: Final = 0.5
_LONGER: Final = 4
"""`topics` looks for a refusal after `_ROUND_S`, then after so much more each time: of a large cluster, or over a slow link,
an answer takes long, and one that comes after its round is lost."""


class Admin:
    """Asks the brokers. `timeout_s`: how long an answer may take.

    Where nobody answers three times in a row, another client is tried the next time: this one may have forgotten where the
    brokers are (`BrokerWatch`).
    """

    def __init__(self, connection: KafkaConnection, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._refused: KafkaError | None = None
        self._unreached: KafkaError | None = None
        self._config: dict[str, Any] = {**connection.admin(), "error_cb": self._on_error}
        self._client = AdminClient(self._config)
        self._unanswered = 0
        self._servers = connection.properties.get("bootstrap.servers", "")

    @property
    def client(self) -> AdminClient:
        """The client to ask now. To be taken again for each request."""
        self._client.poll(0)  # else what it has to say piles up
        return self._client

    def topics(self) -> Mapping[str, TopicMetadata]:
        """All topics. Wrong credentials are reported at once: the client itself would go on trying.

        Raises `ConnectionFailedError`.
        """
        deadline, round_s = time.monotonic() + self.timeout_s, _ROUND_S
        self._refused = self._unreached = None
        while True:
            left = deadline - time.monotonic()
            try:
                return self.client.list_topics(timeout=max(0.01, left if left < _LONGER * round_s else round_s)).topics
            except KafkaException as error:
                self._client.poll(0)
                if self._refused is not None:
                    raise ConnectionFailedError(
                        f"Kafka at {self._servers} refused the connection: {self._refused.str()}. Check security.protocol "
                        "and the credentials in spec.kafka.properties and spec.kafka.secretProperties"
                    ) from error
                round_s *= _LONGER
                if time.monotonic() >= deadline:
                    self.not_answered()
                    reason = without_times((self._unreached or error.args[0]).str())
                    raise ConnectionFailedError(
                        f"no answer from Kafka at {self._servers} within {self.timeout_s:.0f} s: {reason}. "
                        "Check spec.kafka.bootstrapServers, and security.protocol in spec.kafka.properties"
                    ) from error

    def answered(self) -> None:
        """A request was answered."""
        self._unanswered = 0

    def not_answered(self) -> None:
        """A request was not."""
        self._unanswered += 1
        if self._unanswered >= _PATIENCE:
            self._client, self._unanswered = AdminClient(self._config), 0

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in _REFUSED:
            self._refused = error
        elif error.code() in _UNREACHED:
            self._unreached = error


_STALE: Final = (
    KafkaError._NOENT,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
)


Asked = Mapping[str, int] | Mapping[str, range]
"""Topic → how many partitions it has, all of which are meant, or which of them."""


def ends_of(admin: Admin, topics: Asked, isolation_level: str, timeout_s: float) -> Offsets:
    """The end of the partitions of `topics`, in one request per broker.

    Raises `ReadTimeoutError`, `KafkaException`.
    """
    return _offsets(admin, topics, OffsetSpec.latest(), isolation_level, timeout_s)  # type: ignore[no-untyped-call]


def beginnings_of(admin: Admin, topics: Asked, timeout_s: float) -> Offsets:
    """The first offset that is still there of every partition. Raises `ReadTimeoutError`, `KafkaException`."""
    return _offsets(admin, topics, OffsetSpec.earliest(), "read_uncommitted", timeout_s)  # type: ignore[no-untyped-call]


def _offsets(admin: Admin, topics: Asked, spec: OffsetSpec, isolation_level: str, timeout_s: float) -> Offsets:
    committed = isolation_level == "read_committed"
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    numbers = {name: range(some) if isinstance(some, int) else some for name, some in topics.items()}
    asked = {KafkaTopicPartition(name, p): spec for name, some in numbers.items() for p in some}
    if not asked:
        return Offsets()
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
) -> Offsets:
    answers = admin.client.list_offsets(dict(asked), isolation_level=level, request_timeout=timeout_s)
    names = ", ".join(sorted({tp.topic for tp in asked}))
    too_late = f"no answer on the offsets of {names} within {timeout_s:.1f} s"
    try:
        found = Offsets(
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
