"""Publishing an epoch: its rows and its marker, in one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from confluent_kafka import KafkaError, KafkaException, Producer

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import ConnectionFailedError, ProducerLostError
from tandem.logs import get_logger
from tandem.protocol.publication import Outcome

_log = get_logger(__name__)

Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class OutputRecord:
    """One record to publish. `partition` −1 leaves it to the key (murmur2, as every Java producer does)."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    partition: int = -1


class EpochProducer(Protocol):
    """Publishes whole epochs. `publish` never raises for what the protocol can heal: it says how it ended."""

    def start(self, timeout_s: float) -> None:
        """Get ready to publish, making sure that nothing of an earlier producer of this identity is still open."""

    def publish(self, records: Iterable[OutputRecord], marker: OutputRecord, timeout_s: float) -> Outcome:
        """Publish the records, then the marker."""

    def close(self) -> None:
        """Give the producer up."""


class TransactionalProducer:
    """Exactly once: one Kafka transaction per epoch (KIP-98)."""

    def __init__(self, connection: KafkaConnection, transactional_id: str, timeout_ms: int = 10_000) -> None:
        self._connection = connection
        self._id = transactional_id
        self._timeout_ms = timeout_ms
        self._producer: Producer | None = None

    def start(self, timeout_s: float) -> None:
        """(Re)create the producer and initialise it: afterwards no earlier transaction of this id is open.

        Raises `ProducerLostError` if that takes longer than `timeout_s`, `ConnectionFailedError` for wrong credentials.
        """
        deadline = time.monotonic() + timeout_s
        self._producer = None  # after a fatal error never abort: destroy and recreate
        producer = Producer(
            self._connection.transactional(self._id, self._timeout_ms) | {"partitioner": "murmur2_random"}
        )
        while True:
            left = deadline - time.monotonic()
            try:
                producer.init_transactions(max(0.05, left))
            except KafkaException as error:
                reason = error.args[0]
                if reason.code() in (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED):
                    raise ConnectionFailedError(f"the broker refused the credentials: {reason.str()}") from error
                if not reason.retriable() or left <= 0:
                    raise ProducerLostError(f"{self._id} was not initialised: {reason.str()}") from error
            else:
                self._producer = producer
                return

    def publish(self, records: Iterable[OutputRecord], marker: OutputRecord, timeout_s: float) -> Outcome:
        """Publish records and marker in one transaction; FENCED or UNKNOWN leave the producer unusable until `start`."""
        producer = self._producer
        if producer is None:
            return Outcome.UNKNOWN
        try:
            producer.begin_transaction()
            produce_all(producer, chain(records, (marker,)))
            producer.commit_transaction(timeout_s)
        except KafkaException as error:
            reason = error.args[0]
            self._producer = None
            _log.warning("transaction_failed", transactional_id=self._id, reason=reason.str(), code=reason.name())
            return Outcome.FENCED if reason.code() in _FENCED else Outcome.UNKNOWN
        return Outcome.COMMITTED

    def close(self) -> None:
        """Give the producer up; an open transaction of it is aborted by whoever fences it, or by its time-out."""
        self._producer = None


class PlainProducer:
    """At least once and at most once: rows, then the marker, without a transaction."""

    def __init__(self, connection: KafkaConnection) -> None:
        self._connection = connection
        self._producer: Producer | None = None

    def start(self, timeout_s: float) -> None:  # noqa: ARG002 - there is nothing to wait for
        """(Re)create the producer."""
        self._producer = Producer(self._connection.plain_producer() | {"partitioner": "murmur2_random"})

    def publish(self, records: Iterable[OutputRecord], marker: OutputRecord, timeout_s: float) -> Outcome:
        """Publish the records, and the marker once all of them are acknowledged."""
        producer = self._producer
        if producer is None:
            return Outcome.UNKNOWN
        failures: list[KafkaError] = []
        for group in (records, (marker,)):
            produce_all(producer, group, failures)
            if producer.flush(timeout_s) or failures:
                producer.purge()
                self._producer = None
                return Outcome.UNKNOWN
        return Outcome.COMMITTED

    def close(self) -> None:
        """Give the producer up."""
        self._producer = None


_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)


def produce_all(producer: Producer, records: Iterable[OutputRecord], failures: list[KafkaError] | None = None) -> None:
    """Hand all records to the producer, serving its queue when that is full."""

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None and failures is not None:
            failures.append(error)

    for record in records:
        while True:
            try:
                if failures is None:
                    producer.produce(
                        record.topic, record.value, record.key, record.partition, headers=list(record.headers)
                    )
                else:
                    producer.produce(
                        record.topic,
                        record.value,
                        record.key,
                        record.partition,
                        delivered,
                        headers=list(record.headers),
                    )
            except BufferError:
                producer.poll(0.01)
            else:
                break
