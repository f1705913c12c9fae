"""Appending proposals to the ordering topic."""

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message

from tandem.kafka.client import KafkaConnection
from tandem.kafka.producer import Producer
from tandem.kafka.records import OutputRecord
from tandem.kafka.refusals import Failure
from tandem.logs import get_logger
from tandem.protocol.codec import encode_proposal
from tandem.protocol.values import Proposal

_log = get_logger(__name__)


class ProposalAppender:
    """An idempotent producer on the ordering topic. Appends are asynchronous: the log itself is the acknowledgement.

    A proposal that cannot be delivered within 3 s is dropped and logged; if still needed, it is proposed again, through
    a new client: the old one may have forgotten where the brokers are (`BrokerWatch`).

    `on_failure`, `on_success` : called when a proposal was not delivered, and when one was.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        topic: str,
        on_failure: Callable[[Failure], None] = lambda _: None,
        on_success: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_failure, self._on_success = on_failure, on_success
        self._connection = connection
        self._topic = topic
        self._lock = threading.Lock()
        self._clients = 0  # a callback that held its client itself would keep it alive for ever
        self._connect()

    def append(self, proposal: Proposal) -> None:
        """Send one proposal, without waiting."""
        with self._lock:
            try:
                delivered = partial(self._delivered, self._clients)
                self._producer.produce(self._topic, encode_proposal(proposal), partition=0, on_delivery=delivered)
            except (KafkaException, BufferError) as error:
                _log.warning("proposal_not_sent", topic=self._topic, reason=str(error))
                self._connect()
            self._serve()

    def serve(self) -> None:
        """Take notice of what became of proposals; each `append` does that too."""
        with self._lock:
            self._serve()

    def close(self, timeout_s: float = 1.0) -> None:
        """Wait up to `timeout_s` for what is under way."""
        with self._lock, suppress(KafkaException):
            self._producer.flush(timeout_s)

    def _serve(self) -> None:
        try:
            self._producer.poll(0)
        except KafkaException as error:
            _log.warning("proposals_lost", topic=self._topic, reason=str(error))
            self._connect()

    def _connect(self) -> None:
        self._producer = Producer(self._connection.appender())
        self._clients += 1

    def _delivered(self, client: int, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self._on_success()
            return
        _log.warning("proposal_not_delivered", topic=message.topic(), reason=error.str())
        self._on_failure(Failure(error, OutputRecord(self._topic, None, None, ())))
        if client == self._clients and (error.fatal() or error.code() == KafkaError._MSG_TIMED_OUT):
            self._connect()
