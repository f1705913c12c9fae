"""Which keys of the states each new lane gets: those that the partitioner of the inputs puts into its partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import SparkSession

from tandem.checkpoint.folders import Checkpoint
from tandem.engine.kept_state import noted_states
from tandem.engine.lanes import followed_part
from tandem.kafka.client import KafkaConnection
from tandem.kafka.partitioners import Partitioner, Seen, fitting
from tandem.kafka.samples import latest_keys
from tandem.local.lane_states import States
from tandem.manifest import Manifest
from tandem.process.info import RefusedError
from tandem.protocol.lanes import came_from, only_merges
from tandem.protocol.values import Offsets, TopicPartition
from tandem.state.divide import (
    Belongs,
    key_width,
    misplaced,
    operators_of,
    shared_key,
    without_any,
    written_otherwise,
)

_AS_SPARK_HAS_IT = {"distinct": "aggregation"}


def chosen_keys(
    spark: SparkSession,
    job: Manifest,
    states: States,
    connection: KafkaConnection,
    ends: Offsets,
    inputs: Mapping[str, int],
    are_of_ends: bool = True,
) -> Callable[[int], Belongs] | None:
    """Which keys each new lane gets; None: all of the lanes that it came from.

    `ends` : where the lanes have stopped; `inputs`: how many partitions the topics have. `are_of_ends`: whether that is
    where the states are, too, which may not know the newest keys otherwise.

    Every key of the states is where the partitioner of the inputs' producers has put it. Raises `RefusedError` if not.
    """
    if only_merges(states.lanes, states.before) or not states.exact:
        _check_apart(spark, states)
        return None
    fields = _fields(spark, job, states.all[0])
    seen, partitioners = partitioners_of(job, connection, ends, inputs)
    left, wrong = [], ""
    for one in partitioners:
        places = (
            misplaced(spark, state, Belongs(one, fields, old, states.before)) for old, state in states.exact.items()
        )
        found = next((place for place in places if place is not None), None)
        if found is None:
            left.append(one)
        wrong = wrong or found or ""
    if not left:
        raise RefusedError(
            f"the state has a key that is not where the inputs' partitioner ({partitioners[0].name}) puts it: {wrong}. It "
            "is not the record's key as it is, so nobody knows which keys a new lane gets"
        )
    if len(left) > 1:
        names = " and ".join(one.name for one in left)
        raise RefusedError(f"the inputs have too few records with keys to tell their partitioner: {names} may be it")
    if are_of_ends:
        _check_known(spark, states, fields, seen)
    return lambda lane: Belongs(left[0], fields, lane, states.lanes)


def partitioners_of(
    job: Manifest, connection: KafkaConnection, ends: Offsets, inputs: Mapping[str, int]
) -> tuple[Sequence[Seen], tuple[Partitioner, ...]]:
    """The newest records of the inputs, and the partitioners that put them where they are. Raises `RefusedError`: none."""
    seen = _seen(job, connection, ends, inputs)
    partitioners = fitting(seen)
    if not partitioners:
        raise RefusedError(
            "the newest records of the inputs are not in the partitions where Kafka's or librdkafka's partitioner puts "
            "their keys (murmur2, crc32), so nobody knows which keys a new lane gets"
        )
    return seen, partitioners


def _fields(spark: SparkSession, job: Manifest, state: Checkpoint) -> dict[int, int]:
    """Operator → which part of its key the partitions follow."""
    noted, operators = noted_states(state.folder) or [], operators_of(spark, state)
    kinds = [operator.kind for operator in operators]
    if [_AS_SPARK_HAS_IT.get(one.operator, one.operator) for one in noted] != kinds:
        raise RefusedError(
            f"the state's operators ({', '.join(kinds)}) are not those that are known of the job's plan "
            f"({', '.join(one.operator for one in noted) or 'none'}), so their keys are not known"
        )
    found = {}
    for operator, one in zip(operators, noted, strict=True):
        part = followed_part(one, job.spec.sources)
        keys = one.made or one.keys
        if part is None:
            raise RefusedError(
                f"the state of {one.operator} is kept by {' and '.join(keys) or 'nothing'}, which is not what the "
                "partitions follow (spec.sources[].partitionedBy): it cannot be divided among lanes"
            )
        if key_width(spark, state, operator) != len(keys):
            raise RefusedError(
                f"Spark keeps the state of {one.operator} by other keys than {' and '.join(keys)}: it cannot be divided"
            )
        found[operator.id] = part
    return found


def _seen(job: Manifest, connection: KafkaConnection, ends: Offsets, inputs: Mapping[str, int]) -> list[Seen]:
    followed = {
        topic
        for source in job.spec.sources
        if source.table is None and source.partitioned_by != "any"
        for topic in source.topics
    }
    wanted: dict[TopicPartition, int] = {tp: end for tp, end in ends.items() if tp.topic in followed}
    keys = latest_keys(connection, wanted)
    return [Seen(key, tp.partition, inputs[tp.topic]) for tp, some in keys.items() for key in sorted(some)]


def _check_known(spark: SparkSession, states: States, fields: Mapping[int, int], seen: Sequence[Seen]) -> None:
    """Of one lane every key is in its place. So keys of the inputs have to be in the state as they are."""
    if states.before > 1:
        return
    keys = [one.key for one in seen][:200]
    for state in states.all:
        if without := without_any(spark, state, fields, keys):
            raise RefusedError(
                f"no key of the inputs' newest records is in the state of {without} as it is, so nobody knows which keys a "
                "new lane gets"
            )
        if otherwise := written_otherwise(spark, state, fields, keys):
            raise RefusedError(
                f"the record's key {otherwise}, so the state would be in another lane than the key's next record. Keep the "
                "state by the record's key as it is"
            )


def _check_apart(spark: SparkSession, states: States) -> None:
    """Raise `RefusedError` if lanes that become one have a key in common: one of its states would be lost."""
    for lane in range(states.lanes):
        sources = [states.exact[old] for old in came_from(lane, states.lanes, states.before) if old in states.exact]
        shared = shared_key(spark, sources) if len(sources) > 1 else None
        if shared is not None:
            raise RefusedError(
                f"{shared} is in the states of two lanes that would become one: its records are in partitions of both, so "
                "each has a part of what the key is. It cannot be merged (alert KeysInTwoLanes, docs/how-to/lanes.md)"
            )
