"""Prometheus metrics of each process. Names follow Prometheus' conventions: base units, `_total` for counters."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tandem.core.orderer import OrdererState
from tandem.status.report import HeldInput, ReplicaReport
from tandem.status.reported import ReportedState
from tandem.waits import Waits

_REFUSES = (
    "1 while Kafka refuses what this process writes, or holds it back by a quota; its status says why, and what to do"
)
_WAITS = (
    "How long what the output waits for in this process has lasted, if that is most of a minute; its status says what"
)
_WAITS_BESIDE = "The same of what nobody waits for to get the output, e.g. a snapshot"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 2.5, 5, 10, 30)


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes the metrics of one process: all of them carry its labels."""

    registry: CollectorRegistry
    labels: Mapping[str, str]

    def counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, tuple(self.labels), registry=self.registry).labels(**self.labels)

    def gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, tuple(self.labels), registry=self.registry).labels(**self.labels)

    def durations(self, name: str, text: str, *more_labels: str) -> Histogram:
        """Its labels are still to be filled in."""
        return Histogram(name, text, (*self.labels, *more_labels), registry=self.registry, buckets=_SECONDS)


def _lane(lane: int | None) -> dict[str, str]:
    """The label of a lane; a job without lanes has none."""
    return {} if lane is None else {"lane": str(lane)}


def _show(waits: Waits, output: Gauge, beside: Gauge) -> None:
    output.set_function(waits.seconds)
    beside.set_function(lambda: waits.seconds(beside=True))


class OrdererMetrics:
    """What an orderer (or heartbeat generator) tells about itself."""

    def __init__(self, registry: CollectorRegistry, job: str, name: str, lane: int | None = None) -> None:
        own = {"job_name": job, **_lane(lane), "orderer": name}
        make = _Maker(registry, own)
        counter, gauge = make.counter, make.gauge
        self.leading = gauge("tandem_orderer_leading", "1 while this orderer believes that it leads")
        self.leader_changes = counter("tandem_leader_changes_total", "Times this orderer began or ceased to lead")
        self.proposed = counter("tandem_cuts_proposed_total", "Cuts that this orderer proposed")
        self.won = counter("tandem_cuts_won_total", "Cuts of this orderer that the log accepted")
        self.epoch = gauge("tandem_ordering_epoch", "Last accepted epoch; -1: none yet")
        self.epoch.set(-1)
        self.refused = gauge("tandem_orderer_refused_by_kafka", _REFUSES)
        self._waits = gauge("tandem_orderer_waits_seconds", _WAITS)
        self._waits_beside = gauge("tandem_orderer_waits_beside_seconds", _WAITS_BESIDE)
        self.lag = gauge(
            "tandem_input_lag_records", "Input records that are not in any epoch yet, up to the end of the log"
        )
        self._labels = tuple(own.values())
        self._held: tuple[HeldInput, ...] = ()
        labels = (*own, "topic", "partition")
        self._held_seconds = Gauge(
            "tandem_input_held_back_seconds",
            "How long an open transaction of a producer has held back what stands behind it in an input",
            labels,
            registry=registry,
        )
        self._held_offset = Gauge(
            "tandem_input_held_back_offset",
            "The offset of that transaction's first record: the last stable offset",
            labels,
            registry=registry,
        )

    def watch(self, waits: Waits) -> None:
        """Show what `waits` sees."""
        _show(waits, self._waits, self._waits_beside)

    def held(self, found: tuple[HeldInput, ...]) -> None:
        """The partitions that an open transaction holds back now."""
        if found == self._held:
            return
        self._held = found
        for gauge in (self._held_seconds, self._held_offset):
            gauge.clear()
        for one in found:
            labels = (*self._labels, one.topic, str(one.partition))
            self._held_seconds.labels(*labels).set(one.seconds)
            self._held_offset.labels(*labels).set(one.offset)

    def show(self, before: OrdererState, now: OrdererState) -> None:
        """The orderer's state is `now`, and was `before` when it was last shown: several times in each cut."""
        for gauge, was, value in (
            (self.leading, before.leading, now.leading),
            (self.epoch, before.epoch, now.epoch),
            (self.lag, before.lag_records, now.lag_records),
        ):
            if value != was:
                gauge.set(value)
        for counter, count in ((self.proposed, now.proposed - before.proposed), (self.won, now.won - before.won)):
            if count:
                counter.inc(count)


class ReplicaMetrics:
    """What a replica tells about itself."""

    def __init__(self, registry: CollectorRegistry, job: str, replica: str, lane: int | None = None) -> None:
        own = {"job_name": job, **_lane(lane), "replica": replica}
        make = _Maker(registry, own)
        counter, gauge = make.counter, make.gauge
        self.reported: Callable[[], ReplicaReport] = lambda: ReplicaReport(replica, "", "starting")
        """How the replica stands: what is no count of what happens here is derived from it."""
        registry.register(ReportedState(own, lambda: self.reported()))
        self.refused = gauge("tandem_replica_refused_by_kafka", _REFUSES)
        self._waits = gauge("tandem_replica_waits_seconds", _WAITS)
        self._waits_beside = gauge("tandem_replica_waits_beside_seconds", _WAITS_BESIDE)
        self.state_mismatches = counter(
            "tandem_standby_state_mismatches_total", "Followed states that turned out wrong"
        )
        self.shipped_epoch = gauge(
            "tandem_shipped_epoch", "Newest epoch whose changes of state this replica shipped; -1: none"
        )
        self.shipped_epoch.set(-1)
        self.shipped_bytes = counter("tandem_shipped_bytes_total", "Bytes of state that this replica shipped")
        self.promotions = counter("tandem_promotions_total", "Times this replica was promoted from standby")
        self.fences = counter("tandem_fences_total", "Transactional ids that this replica fenced")
        self.fenced = counter("tandem_fenced_total", "Transactions of this replica that failed because it was fenced")
        self.unknown_commits = counter(
            "tandem_unknown_commits_total", "Transactions of this replica of unknown outcome"
        )
        self.published = counter("tandem_epochs_published_total", "Epochs that this replica published")
        self.rows = counter("tandem_rows_published_total", "Rows that this replica published")
        self.dead_letters = counter("tandem_dead_letters_total", "Rows that went to the dead-letter topic")
        self.late_rows = counter(
            "tandem_late_rows_total",
            "Rows, or groups of them, that came too late for their watermark, and were dropped",
        )
        self.mostly_late = gauge("tandem_rows_mostly_late", "1 while most rows come too late for their watermark")
        self.calls_fail = gauge("tandem_calls_mostly_fail", "1 while most calls of a question of the job fail")
        self.publish_latency = make.durations(
            "tandem_publish_latency_seconds", "From an epoch's cut to its commit"
        ).labels(*own.values())
        of_source = (*own, "source")
        self._source_records = Counter(
            "tandem_source_records_total", "Records of a source that this replica took in", of_source, registry=registry
        )
        self._source_letters = Counter(
            "tandem_source_dead_letters_total", "Those of them that became dead letters", of_source, registry=registry
        )
        self._source_unread = Gauge(
            "tandem_source_unread", "1 while most records of a source are dead letters", of_source, registry=registry
        )
        self._source_scattered = Gauge(
            "tandem_source_scattered",
            "1 while a value that a source is partitionedBy is in partitions of two lanes",
            of_source,
            registry=registry,
        )
        self._phase = make.durations("tandem_phase_seconds", "Duration of the phases of an epoch", "phase")
        self._phases: dict[str, Histogram] = {}
        self._sources: dict[str, tuple[Counter, Counter, Gauge]] = {}
        self._labels = tuple(own.values())
        self._retention_seconds = Gauge(
            "tandem_retention_margin_seconds",
            "Time until a topic's retention may delete what a restart from the oldest state would read",
            (*own, "topic"),
            registry=registry,
        )
        self._retention_records = Gauge(
            "tandem_retention_margin_records",
            "Records that retention.bytes still leaves room for before it may delete what a restart would read",
            (*own, "topic"),
            registry=registry,
        )

    def watch(self, waits: Waits) -> None:
        """Show what `waits` sees."""
        _show(waits, self._waits, self._waits_beside)

    def retention(self, topic: str, seconds: Iterable[float | None], records: Iterable[int | None]) -> None:
        """What is left in the partitions of `topic` before something is deleted that a restart needs; None: no limit."""
        least_s = min((s for s in seconds if s is not None), default=float("inf"))
        least = min((n for n in records if n is not None), default=float("inf"))
        self._retention_seconds.labels(*self._labels, topic).set(least_s)
        self._retention_records.labels(*self._labels, topic).set(least)

    def source(self, name: str, records: int, letters: int, unread: bool) -> None:
        """What a source had in an epoch, and whether most of its last records are dead letters."""
        if name not in self._sources:
            labels = (*self._labels, name)
            counters = self._source_records.labels(*labels), self._source_letters.labels(*labels)
            self._sources[name] = (*counters, self._source_unread.labels(*labels))
        of_records, of_letters, of_unread = self._sources[name]
        of_records.inc(records)
        if letters:
            of_letters.inc(letters)
        of_unread.set(unread)

    def scattered(self, source: str, found: bool) -> None:
        """Whether one value of what a source is `partitionedBy` is in two lanes."""
        self._source_scattered.labels(*self._labels, source).set(found)

    def observe_phase(self, phase: str, seconds: float) -> None:
        """Phase `phase` of an epoch took `seconds`."""
        known = self._phases.get(phase)
        if known is None:
            known = self._phases[phase] = self._phase.labels(*self._labels, phase)
        known.observe(seconds)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time a block as phase `name`."""
        started = perf_counter()
        try:
            yield
        finally:
            self.observe_phase(name, perf_counter() - started)
