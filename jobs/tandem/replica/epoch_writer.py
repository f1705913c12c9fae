"""Writes an epoch's rows and its marker: tables first, then one transaction."""

from __future__ import annotations

from collections.abc import Callable

from tandem.kafka.transactions import EpochProducer, OutputRecord
from tandem.metrics import ReplicaMetrics
from tandem.protocol.actions import Outcome, Publish
from tandem.protocol.codec import encode_marker
from tandem.protocol.values import EpochRange, Marker
from tandem.replica.rows import EpochRows
from tandem.topics import SinkTopics


class EpochWriter:
    """One incarnation's writer.

    Parameters
    ----------
    me, generation : who publishes, as the markers say.
    write_tables : writes the rows of an epoch that go to tables.
    """

    def __init__(
        self,
        me: str,
        generation: int,
        producer: EpochProducer,
        sinks: SinkTopics,
        commits_topic: str,
        metrics: ReplicaMetrics,
        write_tables: Callable[[EpochRows], None],
    ) -> None:
        self._me = me
        self._generation = generation
        self._producer = producer
        self._sinks = sinks
        self._commits_topic = commits_topic
        self._metrics = metrics
        self._write_tables = write_tables

    def write(self, action: Publish, rows: EpochRows, epoch: EpochRange, timeout_s: float) -> Outcome:
        """Publish `rows`, or only the marker if they are skipped."""
        records: list[OutputRecord] = []
        if not action.skipped:
            with self._metrics.phase("encode"):
                records = rows.records(self._sinks)
                self._write_tables(rows)
        marker = Marker(
            action.epoch,
            action.attempt,
            self._me,
            rows.digest,
            len(records),
            epoch.log_offset,
            action.skipped,
            self._generation,
            epoch.config_offset,
        )
        last = OutputRecord(self._commits_topic, None, encode_marker(marker), (), 0)
        with self._metrics.phase("publish"):
            outcome = self._producer.publish(records, last, timeout_s)
        self._count(outcome, records)
        return outcome

    def _count(self, outcome: Outcome, records: list[OutputRecord]) -> None:
        if outcome is Outcome.COMMITTED:
            self._metrics.published.inc()
            self._metrics.rows.inc(len(records))
            self._metrics.dead_letters.inc(sum(r.topic == self._sinks.dead_letter for r in records))
        elif outcome is Outcome.FENCED:
            self._metrics.fenced.inc()
        else:
            self._metrics.unknown_commits.inc()
