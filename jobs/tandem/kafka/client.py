"""Configurations of the Kafka clients: what Tandem sets, on top of what the user passes through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tandem.kafka.client_log import CLIENT_LOG

# A broker that was restarted is found again within a fifth of a second, not within librdkafka's default ten.
_COMMON: dict[str, str | int | bool] = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "socket.nagle.disable": True,
    "log.connection.close": False,
}

RECORD_OVERHEAD = 16_384
"""What Tandem's headers and Kafka's framing add to a record at most, bytes, with plenty to spare."""

_DEFAULT_BATCH_BYTES = 1_000_000  # librdkafka's own
_MOST_BYTES = 1_000_000_000  # librdkafka allows no more
_LARGEST = 2**31 - 1  # nor here
_NO_LINES = "0"
_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class OutputLimits:
    """Bytes. `record`: of key, value and headers of the largest record; `batch`: what every topic takes at once."""

    record: int = 1_000_000
    batch: int = _DEFAULT_BATCH_BYTES

    def producer(self, given: Mapping[str, str] = _NOTHING) -> dict[str, int]:
        """Settings of a producer that sends the largest record, and no batch that a topic refuses.

        `given` : the user's; a batch is no larger than they say.
        """
        largest = min(_MOST_BYTES, max(_DEFAULT_BATCH_BYTES, self.record + RECORD_OVERHEAD))
        batch = int(given.get("batch.size", _DEFAULT_BATCH_BYTES))
        return {"message.max.bytes": largest, "batch.size": min(batch, self.batch)}


@dataclass(frozen=True)
class KafkaConnection:
    """How to reach the brokers: `bootstrap.servers` and the user's security properties, for every client alike."""

    properties: Mapping[str, str]

    @property
    def silent(self) -> KafkaConnection:
        """The same for clients that log nothing: those of a command, which says what it is refused, and those that may rest.

        `debug` among the properties makes them log all the same.
        """
        return KafkaConnection({**self.properties, "log_level": _NO_LINES})

    @property
    def _common(self) -> dict[str, Any]:
        """What all clients begin with. Of a pair of bounds the user may give one: the other, which is ours, follows."""
        least, most = "reconnect.backoff.ms", "reconnect.backoff.max.ms"
        common: dict[str, Any] = {**_COMMON, **self.properties}
        if self.properties.get("log_level") != _NO_LINES and not self.properties.get("debug"):
            common["logger"] = CLIENT_LOG  # who asks for `debug` gets every line, from librdkafka itself
        if int(common[least]) > int(common[most]):
            common |= {least: common[most]} if most in self.properties else {most: common[least]}
        return common

    def admin(self) -> dict[str, Any]:
        """Configuration of an AdminClient."""
        return self._common

    def consumer(self, isolation_level: str = "read_committed") -> dict[str, Any]:
        """Configuration of a consumer that assigns itself and commits nothing.

        A position that retention deleted is an error, never a silent jump; the end of a partition is reported.
        """
        return {
            **self._common,
            "group.id": "tandem",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "isolation.level": isolation_level,
            "fetch.wait.max.ms": 100,
            "fetch.error.backoff.ms": 20,
            "fetch.queue.backoff.ms": 20,
            "receive.message.max.bytes": _LARGEST,  # librdkafka unpacks no larger batch of zstd: 100 MB by default
            **self.properties,
        }

    def appender(self) -> dict[str, Any]:
        """Configuration of the idempotent producer of proposals. Late proposals are worthless: they expire after 3 s."""
        return {
            **self._common,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 0,
            "message.timeout.ms": 3_000,
            **self.properties,
        }

    def transactional(self, transactional_id: str, timeout_ms: int) -> dict[str, Any]:
        """Configuration of a transactional producer whose transactions the broker aborts after `timeout_ms`."""
        return {
            **self._common,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
            "message.timeout.ms": timeout_ms,
            "linger.ms": 0,
            "queue.buffering.max.messages": 1_000_000,
            "delivery.report.only.error": True,
            **self.properties,
            **self._no_longer_than(timeout_ms),
        }

    def plain_producer(self) -> dict[str, Any]:
        """Configuration of the producer of rows when delivery is not exactly once."""
        return {
            **self._common,
            "enable.idempotence": True,
            "acks": "all",
            "linger.ms": 0,
            "delivery.report.only.error": True,
            **self.properties,
        }

    def _no_longer_than(self, transaction_ms: int) -> dict[str, int]:
        """librdkafka refuses to wait for an answer for longer than a transaction may take."""
        given = self.properties.get("socket.timeout.ms")
        return {} if given is None else {"socket.timeout.ms": min(int(given), transaction_ms)}
