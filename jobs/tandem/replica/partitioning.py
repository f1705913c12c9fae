"""Looks at the newest records of all lanes, whether the partitions follow what the manifest says of them.

A replica computes the records of its own lane: that one value is in two lanes, it cannot see in them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from confluent_kafka import KafkaException

from tandem.intake.fetch import InputReader
from tandem.intake.parsing import Intake
from tandem.intake.partitioning import Scattered, placed_values, scattered
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import ReadTimeoutError, TandemKafkaError
from tandem.kafka.topics import Topics
from tandem.logs import get_logger
from tandem.manifest import SourceSpec
from tandem.process.info import RefusedError
from tandem.protocol.values import Offsets
from tandem.status.metrics import ReplicaMetrics
from tandem.status.reporter import Reporter
from tandem.topics.periodic_check import PeriodicCheck
from tandem.waiting import Deadline

_log = get_logger(__name__)

EVERY_S: Final = 300.0
_READ_S: Final = 5.0
_NEWEST: Final = 200
_ALL: Final = 20_000
"""So many records of a partition, and of a source, are looked at; fewer of each where there are many partitions."""


class PartitionedSources:
    """The sources of a job with lanes whose partitions its state relies on.

    `intake` : of all sources of the job, with their schemas.
    `relied_on` : their names.
    """

    def __init__(self, connection: KafkaConnection, intake: Intake, relied_on: Collection[str], lanes: int) -> None:
        self.sources = tuple(source for source in intake.sources if source.name in relied_on)
        self._connection, self._decoding, self._lanes = connection, intake.decoding, lanes
        self._topics = Topics(connection)
        self._begun: dict[str, Offsets] = {}

    def scattered(self, source: SourceSpec) -> Scattered | None:
        """A value that is in two lanes, among the newest records; None: none is among them.

        What was there before a job that begins at the ends of its inputs is none of its records. Raises `TandemKafkaError`,
        `KafkaException`.
        """
        partitions = self._topics.partitions(source.topics)
        ends = self._topics.ends(partitions, source.isolation_level)
        first = self._topics.beginnings(partitions)
        if source.starting_offsets == "latest":
            begun = self._begun.setdefault(source.name, ends)
            first = Offsets((tp, max(offset, begun.get(tp, 0))) for tp, offset in first.items())
        most = max(1, min(_NEWEST, _ALL // max(1, len(ends))))
        wanted = [tp for tp, end in ends.items() if end > first[tp]]
        starts = Offsets((tp, max(first[tp], ends[tp] - most)) for tp in wanted)
        reader = InputReader(self._connection, source.isolation_level)
        try:
            records = reader.fetch(starts, Offsets((tp, ends[tp]) for tp in wanted), _READ_S) if wanted else []
        finally:
            reader.close()
        if self._decoding is not None:
            deadline = Deadline(_READ_S)

            def wait(what: str) -> None:
                if deadline.passed:
                    raise ReadTimeoutError(f"not within {_READ_S:.0f} s: {what}")

            self._decoding.await_schemas([message for _, group in records for message in group], wait)
        return scattered(source, placed_values(source, records, self._decoding), self._lanes)


def refuse_scattered(sources: PartitionedSources) -> None:
    """Raise `RefusedError` if a job that never ran would count one value in two lanes. What cannot be read is logged."""
    for source in sources.sources:
        try:
            found = sources.scattered(source)
        except (TandemKafkaError, KafkaException) as error:
            _log.warning("partitioning_unknown", source=source.name, reason=str(error))
            continue
        if found is not None:
            raise RefusedError(found.words)


class PartitioningWatch(PeriodicCheck):
    """Looks at once and then every `every_s`, and says what it finds: log, metric, report."""

    def __init__(
        self, sources: PartitionedSources, metrics: ReplicaMetrics, reporter: Reporter, every_s: float = EVERY_S
    ) -> None:
        super().__init__("partitioning", self._look_and_report, every_s)
        self._sources, self._metrics, self._reporter = sources, metrics, reporter

    def _look_and_report(self) -> None:
        said = []
        for source in self._sources.sources:
            found = self._sources.scattered(source)
            self._metrics.scattered(source.name, found is not None)
            if found is not None:
                said.append(found.words)
                _log.warning("partitioned_otherwise", source=source.name, reason=found.words)
        self._reporter.scattered = "; ".join(said)
