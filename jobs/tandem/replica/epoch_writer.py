"""Writes an epoch's rows and its marker: tables first, then one transaction."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tandem.kafka.epoch_producer import EpochProducer
from tandem.kafka.errors import TransactionTooSlowError
from tandem.kafka.headers import ONE_ROW_HEADER, row_id
from tandem.kafka.records import OutputRecord
from tandem.kafka.refusals import Failure, RowsRefusedError
from tandem.protocol.actions import Outcome, Publish
from tandem.protocol.codec import encode_marker
from tandem.protocol.transaction_time import TransactionTime
from tandem.protocol.values import EpochRange, Marker
from tandem.replica.records import Header, records_of
from tandem.replica.refused import RefusedRows
from tandem.replica.rows import EpochRows
from tandem.status.metrics import ReplicaMetrics


@dataclass(frozen=True, slots=True)
class Author:
    """Who publishes, as the markers in `commits_topic` say: the incarnation and its generation.

    `one_row` : whether each input record is one row, or a dead letter; markers say so, for `tandem verify`.
    """

    me: str
    generation: int
    commits_topic: str
    one_row: bool = False


class EpochWriter:
    """One incarnation's writer.

    `refused` : knows where rows go, and learns which of them the broker does not take.
    `write_tables` : writes the rows of an epoch that go to tables; returns those that are refused, index → why.
    `at` : called with each step.
    `clock_s` : any monotonic clock, s.
    """

    def __init__(
        self,
        author: Author,
        producer: EpochProducer,
        refused: RefusedRows,
        metrics: ReplicaMetrics,
        write_tables: Callable[[EpochRows], Mapping[int, str]] = lambda _: {},
        at: Callable[[str], None] = lambda _: None,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.metrics = metrics
        self.transaction_time = TransactionTime()
        self._author = author
        self._producer = producer
        self._refused = refused
        self._write_tables = write_tables
        self._at = at
        self._clock_s = clock_s
        self._of_marker: Sequence[Header] = [(ONE_ROW_HEADER, b"1")] if author.one_row else ()

    @property
    def failures(self) -> Sequence[Failure]:
        """Why the last transaction did not succeed."""
        return self._producer.failures

    def renew(self, timeout_s: float) -> None:
        """Give the producer up and initialise another one of the same id. Raises `ProducerLostError`, `KafkaException`."""
        self._producer.start(timeout_s, self.transaction_time.limit_s)

    def rest(self) -> None:
        """To be called now and then while nothing is written."""
        self._producer.rest()

    def ready(self) -> None:
        """To be called when an epoch is written and no other is there yet."""
        self._producer.ready()

    def close(self) -> None:
        """Give the producer up."""
        self._producer.close()

    def write(self, action: Publish, rows: EpochRows, epoch: EpochRange) -> Outcome:
        """Publish `rows`, or only the marker if they are skipped. Raises `TransactionTooSlowError`."""
        records: list[OutputRecord] = []
        if not action.skipped:
            self._at("its rows are made into records")
            with self.metrics.phase("encode"):
                self._refused.note(rows.epoch, self._write_tables(rows))
                records = self._records(rows)
        marker = Marker(
            action.epoch,
            action.attempt,
            self._author.me,
            rows.digest,
            len(records),
            epoch.log_offset,
            action.skipped,
            self._author.generation,
            epoch.config_offset,
            rows.inputs,
        )
        last = OutputRecord(self._author.commits_topic, None, encode_marker(marker), self._of_marker, 0)
        began, limit_s = self._clock_s(), self.transaction_time.limit_s
        self._at(f"the end of its transaction of {len(records):,} records")
        with self.metrics.phase("publish"):
            outcome = self._publish(rows, records, last, limit_s)
        self._count(outcome, records)
        elapsed_s = self._clock_s() - began
        if outcome is Outcome.COMMITTED:
            self.transaction_time.committed(elapsed_s)
        elif self.transaction_time.failed(action.epoch, elapsed_s):
            raise _too_slow(action.epoch, records, limit_s)
        return outcome

    def _publish(
        self, rows: EpochRows, records: Sequence[OutputRecord], marker: OutputRecord, limit_s: float
    ) -> Outcome:
        """Publish. Rows that the broker takes never are dead letters next time: at once, where the others are out."""
        while True:
            try:
                return self._producer.publish(records, marker, limit_s)
            except RowsRefusedError as error:
                self._refused.learn(rows.epoch, error)
                if not error.undelivered:
                    return Outcome.UNKNOWN
                missing = {row_id(record.headers) for record in error.undelivered}
                records = [record for record in self._records(rows) if row_id(record.headers) in missing]

    def _records(self, rows: EpochRows) -> list[OutputRecord]:
        return records_of(rows, self._refused.sinks, self._refused.of(rows.epoch))

    def _count(self, outcome: Outcome, records: list[OutputRecord]) -> None:
        if outcome is Outcome.COMMITTED:
            self.metrics.published.inc()
            self.metrics.rows.inc(len(records))
            self.metrics.dead_letters.inc(sum(r.topic == self._refused.sinks.dead_letter for r in records))
        elif outcome is Outcome.FENCED:
            self.metrics.fenced.inc()
        else:
            self.metrics.unknown_commits.inc()


def _too_slow(epoch: int, records: list[OutputRecord], limit_s: float) -> TransactionTooSlowError:
    size = sum(len(record.key or b"") + len(record.value or b"") for record in records)
    return TransactionTooSlowError(
        f"epoch {epoch} ({len(records):,} records, {size / 1e6:,.1f} MB of output) cannot be published: again and again its "
        f"transaction was not done, at last in {limit_s:.0f} s. Give the replica more bandwidth to the brokers, or the "
        "brokers more throughput; nothing is lost meanwhile. A smaller spec.ordering.maxRecordsPerEpoch makes later epochs "
        "smaller, not those that are in the log already"
    )
