"""Checks now and then whether the topics keep what a restart would read again, and warns before it hurts."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tandem.checkpoint.position import EnginePosition
from tandem.kafka.client import KafkaConnection
from tandem.kafka.history import config_at, cut_at, last_marker, markers_back_to
from tandem.kafka.samples import Sample, first_records
from tandem.kafka.topics import Topics
from tandem.logs import get_logger
from tandem.protocol.retention import Limits, Margin, Need, margin_of
from tandem.protocol.values import Offsets, TopicPartition
from tandem.status.metrics import ReplicaMetrics
from tandem.topics.checks import alter_topic
from tandem.topics.declared import LogTopics
from tandem.topics.periodic_check import EVERY_S, PeriodicCheck
from tandem.waits import Task

_log = get_logger(__name__)

_WARN_AGAIN = 10
"""A warning is repeated after so many looks."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The topics that a restart reads: the job's logs and its inputs."""

    logs: LogTopics
    inputs: frozenset[str]


class RetentionWatch(PeriodicCheck):
    """Checks at once and then every `every_s`; one that cannot look says so, and nothing else happens.

    `oldest_state` : given the last published epoch, where the oldest state stands that anyone may restore.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        watched: Watched,
        oldest_state: Callable[[int], EnginePosition],
        metrics: ReplicaMetrics,
        every_s: float = EVERY_S,
        task: Task | None = None,
    ) -> None:
        super().__init__("retention", lambda: self._tell(self.look()), every_s, task)
        self._connection = connection
        self._watched = watched
        self._oldest_state = oldest_state
        self._metrics = metrics
        self._topics = Topics(connection)
        self._told: dict[TopicPartition, int] = {}
        self._shown: set[str] = set()
        self._endless: frozenset[str] = frozenset()  # topics from which nothing is deleted, as of the last look

    def look(self) -> list[Margin]:
        """The margin of every partition of a topic from which anything may ever be deleted, none if nothing is published.

        Raises `KafkaException`, `TandemKafkaError`, `ValueError`: it cannot be found out at the moment.
        """
        known = self._limits()
        self._endless = frozenset(name for name, found in known.items() if found.keeps_all)
        limits = {name: found for name, found in known.items() if not found.keeps_all}
        starts = self._starts(frozenset(limits)) if limits else {}
        if not starts:
            return []
        partitions = self._topics.partitions({place.topic for place in starts})
        beginnings, ends = self._topics.beginnings(partitions), self._topics.ends(partitions, "read_uncommitted")
        readable = {
            tp: max(start, beginnings[tp]) for tp, start in starts.items() if max(start, beginnings[tp]) < ends[tp]
        }
        samples = first_records(self._connection, readable)
        now_ms = time.time_ns() // 1_000_000
        return [
            margin_of(limits[tp.topic], _need(tp, start, beginnings[tp], ends[tp], samples.get(tp)), now_ms)
            for tp, start in sorted(starts.items())
            if tp in ends
        ]

    def _tell(self, margins: Iterable[Margin]) -> None:
        worst: dict[str, list[Margin]] = {}
        for margin in margins:
            worst.setdefault(margin.place.topic, []).append(margin)
            looks = self._told.get(margin.place, 0)
            self._told[margin.place] = looks + 1 if margin.problem else 0
            if margin.problem and looks % _WARN_AGAIN == 0:
                remedy = alter_topic(self._connection, margin.place.topic, margin.settings)
                _log.warning("retention_thin", reason=margin.problem, remedy=remedy)
        for topic, of_topic in worst.items():
            self._metrics.retention(topic, [m.seconds for m in of_topic], [m.records for m in of_topic])
        for topic in self._shown & self._endless:
            self._metrics.retention(topic, (), ())
        self._shown = (self._shown | worst.keys()) - self._endless

    def _limits(self) -> dict[str, Limits]:
        names = {self._watched.logs.ordering, self._watched.logs.commits, *self._watched.inputs}
        return {name: limits_of(settings) for name, settings in self._topics.settings(names).items()}

    def _starts(self, topics: frozenset[str]) -> dict[TopicPartition, int]:
        """From where on a restart from the oldest state reads, of those topics; empty before the first epoch."""
        logs = self._watched.logs
        marker = last_marker(self._connection, logs.commits)
        if marker is None:
            return {}
        state = self._oldest_state(marker.epoch)
        config = config_at(self._connection, logs.ordering, marker.config_offset)
        starts: dict[TopicPartition, int] = {}
        inputs = config.start
        if state.epoch >= 0:
            inputs = cut_at(self._connection, logs.ordering, state.log_offset).ends
        starts |= _of(inputs, topics & self._watched.inputs)
        if logs.ordering in topics:
            log_offset = state.log_offset if state.epoch >= 0 else marker.config_offset
            starts[TopicPartition(logs.ordering, 0)] = min(marker.config_offset, log_offset)
        if logs.commits in topics:
            markers = markers_back_to(self._connection, logs.commits, state.epoch)
            starts[TopicPartition(logs.commits, 0)] = next(
                (offset for offset, found in markers if found.epoch >= state.epoch), 0
            )
        return starts


def limits_of(settings: Mapping[str, str]) -> Limits:
    """A topic's settings as Kafka tells them: −1 is no limit, and without the policy `delete` neither is heeded."""
    policies = settings.get("cleanup.policy", "delete").split(",")
    compacted = "compact" in policies
    if "delete" not in policies:
        return Limits(compacted=compacted)
    return Limits(_limit(settings.get("retention.ms")), _limit(settings.get("retention.bytes")), compacted)


def _limit(text: str | None) -> int | None:
    return None if text is None or int(text) < 0 else int(text)


def _of(positions: Offsets, topics: frozenset[str]) -> dict[TopicPartition, int]:
    return {tp: offset for tp, offset in positions.items() if tp.topic in topics}


def _need(tp: TopicPartition, start: int, beginning: int, end: int, sample: Sample | None) -> Need:
    if sample is None:
        return Need(tp, start, beginning, end)
    return Need(tp, start, beginning, end, sample.written_ms, sample.mean_bytes)
