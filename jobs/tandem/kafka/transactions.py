"""Publishing an epoch: its rows and its marker, in one transaction."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message

from tandem.kafka.client import KafkaConnection, OutputLimits
from tandem.kafka.errors import ConnectionFailedError, NotAllowedError, ProducerLostError
from tandem.kafka.given_up import give_up
from tandem.kafka.producer import Producer
from tandem.kafka.records import OutputRecord
from tandem.kafka.refusals import Failure, RowsRefusedError, blame_of
from tandem.kafka.troubles import in_words, is_for_good
from tandem.logs import get_logger
from tandem.protocol.actions import Outcome
from tandem.protocol.transaction_time import FIRST_S

_log = get_logger(__name__)


MakeLimits = Callable[[], OutputLimits]
"""What the topics take now."""

OnThrottled = Callable[[str, float], None]
"""Called with a broker and for how long it holds a request back because of a quota, s."""


def _no_matter(_broker: str, _seconds: float) -> None:
    """Nobody wants to know."""


def _throttle_cb(tell: OnThrottled) -> dict[str, Any]:
    return {"throttle_cb": lambda event: tell(event.broker_name, event.throttle_time)}


class TransactionalProducer:
    """Exactly once: one Kafka transaction per epoch (KIP-98).

    What became of each record is only asked after a transaction failed: who commits has to serve every report, which takes
    a third of the time of a transaction of ten records. One with a record that failed cannot be committed anyway.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        transactional_id: str,
        limits: MakeLimits = OutputLimits,
        on_throttled: OnThrottled = _no_matter,
    ) -> None:
        self._callbacks = _throttle_cb(on_throttled)
        self._connection = connection
        self._batches = _Batches(limits)
        self._id = transactional_id
        self._producer: Producer | None = None
        self.failures: Sequence[Failure] = ()

    def start(self, timeout_s: float, transaction_s: float = FIRST_S) -> None:
        """(Re)create the producer and initialise it: afterwards no earlier transaction of this id is open.

        Raises `ProducerLostError` if that takes longer than `timeout_s`, `ConnectionFailedError` for wrong credentials,
        `NotAllowedError` for missing rights.
        """
        deadline = time.monotonic() + timeout_s
        self.close()  # after a fatal error never abort: destroy and recreate
        producer = Producer(
            self._connection.transactional(self._id, round(transaction_s * 1000))
            | self._batches.settings(self._connection.properties)
            | {"partitioner": "murmur2_random"}
            | self._callbacks
        )
        while True:
            left = deadline - time.monotonic()
            try:
                producer.init_transactions(max(0.05, left))
            except KafkaException as error:
                with suppress(KafkaException):
                    producer.poll(0)  # it has said why
                reason = error.args[0]
                if reason.code() in (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED):
                    raise ConnectionFailedError(f"the broker refused the credentials: {reason.str()}") from error
                if is_for_good(reason):
                    words = in_words(reason)
                    raise NotAllowedError(f"the brokers let nothing be published under {self._id}: {words}") from error
                if not reason.retriable() or left <= 0:
                    raise ProducerLostError(f"{self._id} was not initialised: {reason.str()}") from error
            else:
                self._producer = producer
                return

    def publish(self, records: Iterable[OutputRecord], marker: OutputRecord, timeout_s: float) -> Outcome:
        """Publish records and marker in one transaction; FENCED or UNKNOWN leave the producer unusable until `start`."""
        producer = self._producer
        if producer is None:
            self.failures = ()
            return Outcome.UNKNOWN
        self.failures = failures = list[Failure]()
        try:
            producer.begin_transaction()
            produce_all(producer, chain(records, (marker,)), failures, self._batches.reports)
            if not failures:
                producer.commit_transaction(timeout_s)
        except KafkaException as error:
            failures.append(Failure(_behind(producer, error.args[0])))
        if not failures:
            if self._batches.committed():
                self.close()
            return Outcome.COMMITTED
        self._batches.failed()
        blame = blame_of(failures, self._batches.alone)
        if blame is not None:
            with suppress(KafkaException):
                producer.abort_transaction(timeout_s)  # else it would block readers until its time-out
        self.failures = failures = list(failures)  # the producer reports on while it is given up
        self.close()
        if blame is not None:
            self._batches.refused(bool(blame.refusals))
            raise RowsRefusedError(blame)
        reason = failures[-1].error
        _log.warning("transaction_failed", transactional_id=self._id, reason=reason.str(), code=reason.name())
        return Outcome.FENCED if any(f.error.code() in _FENCED for f in failures) else Outcome.UNKNOWN

    def rest(self) -> None:
        """Let the client say what it has to; an error that is fatal is met again by the next epoch."""
        if self._producer is not None:
            with suppress(KafkaException):
                self._producer.poll(0)

    def close(self) -> None:
        """Give the producer up; an open transaction of it is aborted by the one that fences it, or by its time-out."""
        if self._producer is not None:
            give_up(self._producer)
        self._producer = None


class PlainProducer:
    """At least once and at most once: rows, then the marker, without a transaction."""

    def __init__(
        self, connection: KafkaConnection, limits: MakeLimits = OutputLimits, on_throttled: OnThrottled = _no_matter
    ) -> None:
        self._callbacks = _throttle_cb(on_throttled)
        self._connection = connection
        self._batches = _Batches(limits)
        self._producer: Producer | None = None
        self.failures: Sequence[Failure] = ()

    def start(self, timeout_s: float, transaction_s: float = FIRST_S) -> None:  # noqa: ARG002 - nothing to wait for
        """(Re)create the producer."""
        self.close()
        self._producer = Producer(
            self._connection.plain_producer()
            | self._batches.settings(self._connection.properties)
            | {"partitioner": "murmur2_random"}
            | self._callbacks
        )

    def publish(self, records: Iterable[OutputRecord], marker: OutputRecord, timeout_s: float) -> Outcome:
        """Publish the records, and the marker once all of them are acknowledged."""
        producer = self._producer
        if producer is None:
            self.failures = ()
            return Outcome.UNKNOWN
        for group in (records, (marker,)):
            self.failures = failures = list[Failure]()
            try:
                produce_all(producer, group, failures)
            except KafkaException as error:
                failures.append(Failure(error.args[0]))
            unanswered = _flushed(producer, timeout_s, failures)
            if unanswered or failures:
                self.failures = failures = list(failures)  # the producer reports on while it is given up
                producer.purge()
                self.close()
                blame = blame_of(failures, self._batches.alone)
                if unanswered:
                    failures.append(Failure(KafkaError(KafkaError._TIMED_OUT)))
                elif blame is not None:
                    self._batches.refused(bool(blame.refusals))
                    self.start(timeout_s)
                    raise RowsRefusedError(blame, [f.record for f in failures if f.record is not None])
                return Outcome.UNKNOWN
        if self._batches.committed():
            self.close()
        return Outcome.COMMITTED

    def rest(self) -> None:
        """Let the client say what it has to; an error that is fatal is met again by the next epoch."""
        if self._producer is not None:
            with suppress(KafkaException):
                self._producer.poll(0)

    def close(self) -> None:
        """Give the producer up."""
        if self._producer is not None:
            give_up(self._producer)
        self._producer = None


class _Batches:
    """How records are put together, and followed: for a while after a transaction failed, what became of each is reported;
    after a batch was refused, each is sent by itself, to see which is to blame.

    `limits` : what the topics take now.
    """

    def __init__(self, limits: MakeLimits) -> None:
        self._limits = limits
        self._failed_s: float | None = None
        self._refused_s: float | None = None

    @property
    def reports(self) -> bool:
        """Whether what becomes of each record is reported."""
        return self._failed_s is not None

    @property
    def alone(self) -> bool:
        """Whether each record is sent by itself."""
        return self._refused_s is not None

    def settings(self, given: Mapping[str, str]) -> dict[str, int]:
        """Those of a producer; `given`: the user's, of which a smaller batch is obeyed."""
        return self._limits().producer(given) | ({"batch.num.messages": 1} if self.alone else {})

    def failed(self) -> None:
        """A transaction failed."""
        self._failed_s = time.monotonic()

    def refused(self, is_known: bool) -> None:
        """A record was refused; `is_known`: it is known which."""
        if not is_known or self.alone:
            self._refused_s = time.monotonic()

    def committed(self) -> bool:
        """All records were taken; whether another producer is to be made, that puts them together again."""
        now_s = time.monotonic()
        if self._failed_s is not None and now_s - self._failed_s >= _CAREFUL_S:
            self._failed_s = None
        if self._refused_s is None or now_s - self._refused_s < _CAREFUL_S:
            return False
        self._refused_s = None
        return True


_CAREFUL_S = 60.0
_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)


_NOT_SENT = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError._UNKNOWN_PARTITION)
"""What the client itself says of a record; the others are sent all the same."""


def produce_all(
    producer: Producer, records: Iterable[OutputRecord], failures: list[Failure], reports: bool = True
) -> None:
    """Hand all records to the producer, serving its queue when that is full.

    `failures` gets what the client refuses at once, and with `reports` also what is not delivered.
    """

    def delivered(record: OutputRecord, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            partition = message.partition()
            failures.append(Failure(error, record, -1 if partition is None else partition))

    for record in records:
        while True:
            on_delivery: Any = partial(delivered, record) if reports else None
            try:
                producer.produce(
                    record.topic, record.value, record.key, record.partition, on_delivery, headers=list(record.headers)
                )
            except BufferError:
                producer.poll(0.01)
            except KafkaException as error:
                if error.args[0].code() not in _NOT_SENT:
                    raise
                failures.append(Failure(error.args[0], record, _ITSELF - len(failures)))
                break
            else:
                break


def _behind(producer: Producer, error: KafkaError) -> KafkaError:
    """What is behind an error that only says that the producer is of no use any more, as after it was fenced."""
    if error.code() == KafkaError._FATAL:
        try:
            producer.begin_transaction()  # fails with the cause
        except KafkaException as cause:
            return cause.args[0]  # type: ignore[no-any-return]
    return error


def _flushed(producer: Producer, timeout_s: float, failures: list[Failure]) -> int:
    """How many messages are still to be answered; a fatal error is a failure."""
    try:
        return producer.flush(timeout_s)
    except KafkaException as error:
        failures.append(Failure(error.args[0]))
        return len(producer)


_ITSELF = -2
"""A partition that no other record shares."""
