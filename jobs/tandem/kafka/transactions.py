"""Publishing an epoch: its rows and its marker, in one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, Protocol

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tandem.kafka.client import RECORD_OVERHEAD, KafkaConnection, OutputLimits
from tandem.kafka.errors import ConnectionFailedError, ProducerLostError, RecordTooLargeError
from tandem.logs import get_logger
from tandem.protocol.actions import Outcome
from tandem.protocol.transaction_time import FIRST_S

_log = get_logger(__name__)

Headers = Sequence[tuple[str, bytes | None]]


class OutputRecord(NamedTuple):
    """One record to publish. `partition` −1 leaves it to the key (murmur2, as every Java producer does)."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    partition: int = -1


class EpochProducer(Protocol):
    """Publishes whole epochs. `publish` never raises for what the protocol can heal: it says how it ended.

    What nobody can heal is raised: `RecordTooLargeError`.
    """

    def start(self, timeout_s: float, transaction_s: float = FIRST_S) -> None:
        """Get ready to publish, making sure that nothing of an earlier producer of this identity is still open.

        Transactions may take `transaction_s` from now on.
        """

    def publish(self, records: Iterable[OutputRecord], marker: OutputRecord, timeout_s: float) -> Outcome:
        """Publish the records, then the marker."""

    def close(self) -> None:
        """Give the producer up."""


class TransactionalProducer:
    """Exactly once: one Kafka transaction per epoch (KIP-98)."""

    def __init__(
        self,
        connection: KafkaConnection,
        transactional_id: str,
        limits: OutputLimits = OutputLimits(),  # noqa: B008 - it is frozen
    ) -> None:
        self._connection = connection
        self._limits = limits
        self._id = transactional_id
        self._producer: Producer | None = None

    def start(self, timeout_s: float, transaction_s: float = FIRST_S) -> None:
        """(Re)create the producer and initialise it: afterwards no earlier transaction of this id is open.

        Raises `ProducerLostError` if that takes longer than `timeout_s`, `ConnectionFailedError` for wrong credentials.
        """
        deadline = time.monotonic() + timeout_s
        self._producer = None  # after a fatal error never abort: destroy and recreate
        producer = Producer(
            self._limits.producer()
            | self._connection.transactional(self._id, round(transaction_s * 1000))
            | {"partitioner": "murmur2_random"}
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
        failures: list[Failure] = []
        try:
            producer.begin_transaction()
            produce_all(producer, chain(records, (marker,)), failures)
            producer.commit_transaction(timeout_s)
        except KafkaException as error:
            reason = error.args[0]
            self._producer = None
            if _too_large(reason, failures):
                with suppress(KafkaException):
                    producer.abort_transaction(timeout_s)  # else it would block readers until its time-out
                raise _record_too_large(failures, self._limits) from error
            _log.warning("transaction_failed", transactional_id=self._id, reason=reason.str(), code=reason.name())
            return Outcome.FENCED if reason.code() in _FENCED else Outcome.UNKNOWN
        return Outcome.COMMITTED

    def close(self) -> None:
        """Give the producer up; an open transaction of it is aborted by whoever fences it, or by its time-out."""
        self._producer = None


class PlainProducer:
    """At least once and at most once: rows, then the marker, without a transaction."""

    def __init__(self, connection: KafkaConnection, limits: OutputLimits = OutputLimits()) -> None:  # noqa: B008
        self._connection = connection
        self._limits = limits
        self._producer: Producer | None = None

    def start(self, timeout_s: float, transaction_s: float = FIRST_S) -> None:  # noqa: ARG002 - nothing to wait for
        """(Re)create the producer."""
        self._producer = Producer(
            self._limits.producer() | self._connection.plain_producer() | {"partitioner": "murmur2_random"}
        )

    def publish(self, records: Iterable[OutputRecord], marker: OutputRecord, timeout_s: float) -> Outcome:
        """Publish the records, and the marker once all of them are acknowledged."""
        producer = self._producer
        if producer is None:
            return Outcome.UNKNOWN
        failures: list[Failure] = []
        for group in (records, (marker,)):
            try:
                produce_all(producer, group, failures)
            except KafkaException as error:
                failures.append(Failure(error.args[0], None))
            if producer.flush(timeout_s) or failures:
                producer.purge()
                self._producer = None
                if _too_large(None, failures):
                    raise _record_too_large(failures, self._limits)
                return Outcome.UNKNOWN
        return Outcome.COMMITTED

    def close(self) -> None:
        """Give the producer up."""
        self._producer = None


_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)


@dataclass(frozen=True, slots=True)
class Failure:
    """A record was not delivered: why, and to which topic if that is known."""

    error: KafkaError
    topic: str | None


def produce_all(producer: Producer, records: Iterable[OutputRecord], failures: list[Failure]) -> None:
    """Hand all records to the producer, serving its queue when that is full; `failures` gets what was not delivered."""

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(Failure(error, message.topic()))

    for record in records:
        while True:
            try:
                producer.produce(
                    record.topic, record.value, record.key, record.partition, delivered, headers=list(record.headers)
                )
            except BufferError:
                producer.poll(0.01)
            else:
                break


def _too_large(reason: KafkaError | None, failures: Iterable[Failure]) -> bool:
    errors = [failure.error for failure in failures] + ([] if reason is None else [reason])
    return any(error.code() == KafkaError.MSG_SIZE_TOO_LARGE for error in errors)


def _record_too_large(failures: Iterable[Failure], limits: OutputLimits) -> RecordTooLargeError:
    topics = {f.topic for f in failures if f.topic and f.error.code() == KafkaError.MSG_SIZE_TOO_LARGE}
    return RecordTooLargeError(
        f"the broker refuses a record of topic {', '.join(sorted(topics)) or '(unknown)'} as too large, although "
        f"spec.maxRecordBytes allows {limits.record} bytes. Raise the topic's max.message.bytes to at least "
        f"{limits.record + RECORD_OVERHEAD}, and start the job again: nothing is lost"
    )
