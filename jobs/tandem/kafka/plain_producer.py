"""Publishing an epoch where delivery is not exactly once: its rows, then its marker."""

from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException

from tandem.kafka.batches import produce_all
from tandem.kafka.epoch_client import EpochClient
from tandem.kafka.producer import Producer
from tandem.kafka.records import OutputRecord
from tandem.kafka.refusals import Failure, RowsRefusedError, blame_of
from tandem.protocol.actions import Outcome
from tandem.protocol.transaction_time import FIRST_S


class PlainProducer(EpochClient):
    """At least once and at most once: rows, then the marker, without a transaction."""

    def start(self, timeout_s: float, transaction_s: float = FIRST_S) -> None:  # noqa: ARG002 - nothing to wait for
        """(Re)create the producer."""
        self.close()
        self._producer = self._made(self._connection.plain_producer())

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
            self.start(timeout_s)  # not closed: at most once, the next epoch's rows would be given up
        return Outcome.COMMITTED


def _flushed(producer: Producer, timeout_s: float, failures: list[Failure]) -> int:
    """How many messages are still to be answered; a fatal error is a failure."""
    try:
        return producer.flush(timeout_s)
    except KafkaException as error:
        failures.append(Failure(error.args[0]))
        return len(producer)
