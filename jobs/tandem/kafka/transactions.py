"""Publishing an epoch: its rows and its marker, in one transaction."""

import time
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain

from confluent_kafka import KafkaError, KafkaException

from tandem.kafka.batches import MakeLimits, OnThrottled, no_matter, produce_all
from tandem.kafka.client import KafkaConnection, OutputLimits
from tandem.kafka.epoch_client import EpochClient
from tandem.kafka.errors import ConnectionFailedError, NotAllowedError, ProducerLostError
from tandem.kafka.producer import Producer
from tandem.kafka.records import OutputRecord
from tandem.kafka.refusals import Failure, RowsRefusedError, blame_of
from tandem.kafka.troubles import in_words, is_for_good
from tandem.logs import get_logger
from tandem.protocol.actions import Outcome
from tandem.protocol.transaction_time import FIRST_S
from tandem.waiting import rest_of

_log = get_logger(__name__)

_AGAIN_S = 0.05
"""How far apart two requests are to initialise a producer, where a broker answers at once that it cannot now."""


class TransactionalProducer(EpochClient):
    """Exactly once: one Kafka transaction per epoch (KIP-98).

    What became of each record is only asked after a transaction failed: who commits has to serve every report, which takes
    a third of the time of a transaction of ten records. One with a record that failed cannot be committed anyway.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        transactional_id: str,
        limits: MakeLimits = OutputLimits,
        on_throttled: OnThrottled = no_matter,
    ) -> None:
        super().__init__(connection, limits, on_throttled)
        self._id = transactional_id
        self._is_begun = False  # a transaction, of which only the client knows so far

    def start(self, timeout_s: float, transaction_s: float = FIRST_S) -> None:
        """(Re)create the producer and initialise it: afterwards no earlier transaction of this id is open.

        Raises `ProducerLostError` if that takes longer than `timeout_s`, `ConnectionFailedError` for wrong credentials,
        `NotAllowedError` for missing rights.
        """
        deadline = time.monotonic() + timeout_s
        self.close()  # after a fatal error never abort: destroy and recreate
        self._is_begun = False
        producer = self._made(self._connection.transactional(self._id, round(transaction_s * 1000)))
        while True:
            asked = time.monotonic()
            left = deadline - asked
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
                rest_of(min(_AGAIN_S, left), asked)
            else:
                self._producer = producer
                return

    def ready(self) -> None:
        """Begin a transaction; what stands against that is met again by the next epoch.

        confluent-kafka (2.16.1) keeps Python's global lock while a thread of librdkafka begins one: all others stand still.
        """
        if self._producer is not None:
            with suppress(KafkaException):
                self._begin(self._producer)

    def publish(self, records: Iterable[OutputRecord], marker: OutputRecord, timeout_s: float) -> Outcome:
        """Publish records and marker in one transaction; FENCED or UNKNOWN leave the producer unusable until `start`."""
        producer = self._producer
        if producer is None:
            self.failures = ()
            return Outcome.UNKNOWN
        self.failures = failures = list[Failure]()
        try:
            self._begin(producer)
            self._is_begun = False
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

    def _begin(self, producer: Producer) -> None:
        if not self._is_begun:
            producer.begin_transaction()
            self._is_begun = True


_FENCED = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)


def _behind(producer: Producer, error: KafkaError) -> KafkaError:
    """What is behind an error that only says that the producer is of no use any more, as after it was fenced."""
    if error.code() == KafkaError._FATAL:
        try:
            producer.begin_transaction()  # fails with the cause
        except KafkaException as cause:
            return cause.args[0]  # type: ignore[no-any-return]
    return error
