"""Which topics a job has, as its manifest names them, and making sure that they are there."""

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tandem.kafka.client import RECORD_OVERHEAD, OutputLimits
from tandem.kafka.errors import MissingTopicError, TopicMismatchError
from tandem.kafka.topics import KEPT_FOR_EVER, NewTopic, Topics
from tandem.manifest import Manifest, SourceSpec
from tandem.topics.checks import check_defaults, check_written, is_compacted, losing

DEAD_LETTER_SINK = "dead-letter"
"""The sink of rows that cannot be used; no sink of a manifest can have this name, it is no identifier."""


TABLE_PREFIX = "table_"
"""The column with the rows of the table sink `x` is `table_x`, a struct."""


_LOOKS, _PAUSE_S = 3, 0.5

_USUAL_LIMIT = 1_048_588
"""What a broker takes as a batch by default, bytes."""


_KEPT_SHORTLY = {
    "cleanup.policy": "delete",
    "retention.ms": "600000",
    "segment.ms": "120000",
    "segment.bytes": "67108864",
    "max.message.bytes": "4194304",
}
"""Shipped state: older than a few snapshots it is of no use, and an epoch's changes may be larger than a usual record."""


@dataclass(frozen=True, slots=True)
class SinkTopics:
    """Where rows go: sink → topic, topic → number of partitions, and what becomes of rows over `max_record_bytes`.

    `job` is named in every row: several jobs may write one topic. `compacted`: topics that take no record without a key;
    `unseen`: those of which that is not known, because we may not see their settings. `limits`: what topics take as a batch,
    bytes, as far as it may be seen. `deltas`: the sinks that are Delta tables, each with the columns that its
    table is partitioned by. `kept`: the sinks whose rows stay in the partitions of the lane `lane`, of `lanes`.
    """

    topics: Mapping[str, str]
    partitions: Mapping[str, int]
    dead_letter: str
    max_record_bytes: int
    job: str = ""
    compacted: frozenset[str] = frozenset()
    unseen: frozenset[str] = frozenset()
    limits: Mapping[str, int] = field(default_factory=dict)
    deltas: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    lane: int = 0
    lanes: int = 1

    @property
    def output_limits(self) -> OutputLimits:
        """What a producer may send to these topics."""
        return OutputLimits(self.max_record_bytes, min(self.limits.values(), default=_USUAL_LIMIT))


@dataclass(frozen=True, slots=True)
class LogTopics:
    """The two logs of a job."""

    ordering: str
    commits: str


def names_for(manifest: Manifest, replica: str) -> LogTopics:
    """The logs that `replica` reads. In mode `none` each replica has logs of its own: nothing is agreed on."""
    topics = manifest.model.topics
    if manifest.spec.ordering.mode == "none":
        return LogTopics(f"{topics.ordering}.{replica}", f"{topics.commits}.{replica}")
    return LogTopics(topics.ordering, topics.commits)


def ensure_topics(topics: Topics, manifest: Manifest, replica: str) -> None:
    """Check the topics of sources and sinks, create Tandem's own, and check what can be written.

    Raises `MissingTopicError`, `TopicMismatchError`.
    """
    _check_there(topics, users_topics(manifest))
    own = own_topics(manifest, replica)
    check_defaults(own, topics.all(), topics.broker_settings())
    topics.ensure(own)
    sinks = [sink.topic for sink in manifest.spec.sinks if sink.topic is not None]
    written = [*(topic.name for topic in own), *sinks]
    replicas = {name: state.replicas for name, state in topics.states(written).items()}
    check_written(own, replicas, topics.settings(written), topics.connection)


def _check_there(topics: Topics, names: Iterable[str]) -> None:
    """Raise `MissingTopicError`; not for one answer without a topic, as brokers give that have just started."""
    for look in range(_LOOKS):
        try:
            topics.partitions(names)
        except MissingTopicError:
            if look == _LOOKS - 1:
                raise
            time.sleep(_PAUSE_S)
        else:
            return


def compacted_inputs(topics: Topics, manifest: Manifest) -> dict[str, str]:
    """Inputs that lose records to compaction soon, each with what to do, as far as their settings may be seen."""
    return losing(topics.settings(topic for source in manifest.spec.sources for topic in source.topics))


def users_topics(manifest: Manifest) -> frozenset[str]:
    """What the job reads and writes: Tandem neither makes nor deletes it."""
    sinks = [sink.topic for sink in manifest.spec.sinks if sink.topic is not None]
    return frozenset([*(topic for source in manifest.spec.sources for topic in source.topics), *sinks])


def own_topics(manifest: Manifest, replica: str) -> list[NewTopic]:
    """Tandem's own topics, as `replica` needs them."""
    spec, logs = manifest.spec, names_for(manifest, replica)
    factor = spec.kafka.replication_factor
    own = [NewTopic(name, 1, factor, KEPT_FOR_EVER, is_log=True) for name in (logs.ordering, logs.commits)]
    largest = max(_USUAL_LIMIT, spec.max_record_bytes + RECORD_OVERHEAD)
    letters = {"cleanup.policy": "delete", "retention.ms": "-1", "max.message.bytes": str(largest)}
    own.append(NewTopic(manifest.model.topics.dead_letter, 1, factor, letters))
    if manifest.model.ships_state:
        own.append(NewTopic(manifest.model.topics.checkpoints, 1, factor, _KEPT_SHORTLY))
    return own


def left_by(manifest: Manifest, existing: Iterable[str]) -> list[str]:
    """Those of the topics that are Tandem's own in this job: of all its replicas, and of what it once was.

    Never one that the manifest reads or writes.
    """
    names = manifest.model.topics
    alone = manifest.spec.ordering.mode == "none"
    logs = "|".join(re.escape(name) for name in (names.ordering, names.commits))
    of_logs = re.compile(rf"(?:{logs})\.replica-\d+" if alone else logs)
    others = {names.dead_letter, names.checkpoints}
    mine = {name for name in existing if name in others or of_logs.fullmatch(name)}
    return sorted(mine - users_topics(manifest))


def sink_topics(topics: Topics, manifest: Manifest, deltas: Mapping[str, tuple[str, ...]]) -> SinkTopics:
    """Where the rows of each Kafka sink go. `deltas` : as `SinkTopics` has it."""
    dead_letter = manifest.model.topics.dead_letter
    names = {sink.name: sink.topic for sink in manifest.spec.sinks if sink.topic is not None} | {
        DEAD_LETTER_SINK: dead_letter
    }
    partitions = topics.partitions(set(names.values()))
    settings = topics.settings(partitions)
    return SinkTopics(
        names,
        partitions,
        dead_letter,
        manifest.spec.max_record_bytes,
        manifest.name,
        frozenset(name for name, found in settings.items() if is_compacted(found)),
        frozenset(name for name in partitions if "cleanup.policy" not in settings.get(name, {})),
        {name: int(found[_LIMIT]) for name, found in settings.items() if _LIMIT in found},
        deltas,
        kept=kept_by_lanes(manifest, partitions),
        lane=manifest.lane or 0,
        lanes=manifest.spec.lanes,
    )


def kept_by_lanes(manifest: Manifest, partitions: Mapping[str, int]) -> frozenset[str]:
    """The sinks whose rows stay in their lane's partitions. Raises `TopicMismatchError`."""
    lanes = manifest.spec.lanes
    kept = {sink.name: sink.topic for sink in manifest.spec.sinks if sink.partition_by == "lane" and lanes > 1}
    for name, topic in kept.items():
        count = partitions.get(topic or "", 0)
        if count % lanes:
            raise TopicMismatchError(
                f"topic {topic} has {count} partitions, which is no multiple of spec.lanes: {lanes}, so lanes cannot keep "
                f"partitions of it (partitionBy: lane of sink {name}). Give it a multiple of {lanes}, or remove partitionBy"
            )
    return frozenset(kept)


_LIMIT = "max.message.bytes"


def check_limits(sinks: SinkTopics) -> None:
    """Raise `TopicMismatchError` if a topic does not take records as large as promised."""
    needed = sinks.max_record_bytes + RECORD_OVERHEAD
    for name, limit in sinks.limits.items():
        if limit < needed:
            raise TopicMismatchError(
                f"topic {name} takes at most {limit} bytes (its max.message.bytes), but spec.maxRecordBytes is "
                f"{sinks.max_record_bytes}. Raise the topic's max.message.bytes to at least {needed}, or give a smaller "
                "spec.maxRecordBytes"
            )


def isolation_levels(manifest: Manifest) -> dict[str, str]:
    """Input topic → isolation level."""
    return {topic: source.isolation_level for source in manifest.spec.sources for topic in source.topics}


def partitions_read(manifest: Manifest, inputs: Mapping[str, int]) -> Mapping[str, range]:
    """Which partitions this job, or this lane of it, reads of `inputs`, topic → how many it has.

    A key's lane is that of its partition, p mod lanes. It is the same in all topics, and stays the same when partitions are
    added, only if the numbers of partitions are multiples of that of lanes. Raises `TopicMismatchError`.
    """
    if manifest.lane is not None:
        for source in manifest.spec.sources:
            if source.table is None and source.partitioned_by != "any":
                _check_even(source, manifest.spec.lanes, inputs)
            elif source.table is None:
                _check_enough(source, manifest.spec.lanes, inputs)
    return manifest.read_of(inputs)


def counts_read(manifest: Manifest, inputs: Mapping[str, int]) -> Mapping[str, int]:
    """How many partitions each of `inputs` has up to the last that this job, or this lane of it, reads.

    So a savepoint counts them, which knows only what was read. Raises as `partitions_read`.
    """
    return {topic: read[-1] + 1 for topic, read in partitions_read(manifest, inputs).items() if read}


def _check_even(source: SourceSpec, lanes: int, inputs: Mapping[str, int]) -> None:
    for topic in source.topics:
        count = inputs.get(topic, 0)
        if count % lanes:
            raise TopicMismatchError(
                f"topic {topic} has {count} partitions, which is no multiple of spec.lanes: {lanes}, so equal keys of "
                f"several topics, or from before and after partitions were added, may be in different lanes. Give it a "
                f"multiple of {lanes} partitions; or set partitionedBy: any for source {source.name}, if the job keeps no "
                "state of it"
            )


def _check_enough(source: SourceSpec, lanes: int, inputs: Mapping[str, int]) -> None:
    for topic in source.topics:
        if 0 < inputs.get(topic, 0) < lanes:
            raise TopicMismatchError(
                f"topic {topic} has {inputs[topic]} partitions, fewer than spec.lanes: {lanes}, so some lanes would read "
                f"nothing of source {source.name}. Give it {lanes} partitions or more, or the job fewer lanes"
            )


def table_topics(manifest: Manifest) -> frozenset[str]:
    """The input topics of sources that are tables."""
    return frozenset(topic for source in manifest.spec.sources if source.table is not None for topic in source.topics)
