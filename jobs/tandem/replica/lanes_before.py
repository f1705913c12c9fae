"""The number of lanes that a job ran with last, from its logs: others would read records again, or never."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from confluent_kafka import KafkaException

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import MissingTopicError, ReadTimeoutError
from tandem.kafka.history import current_decisions
from tandem.kafka.topics import Topics
from tandem.logs import get_logger
from tandem.manifest import Manifest
from tandem.manifest.going_on import accepting_command
from tandem.manifest.identity import lanes_of, parts_of
from tandem.process.info import RefusedError
from tandem.protocol.decisions import Decisions
from tandem.protocol.values import Config
from tandem.topics.declared import names_for
from tandem.topics.lanes_left import gone_lanes

_log = get_logger(__name__)
_REPLICA: Final = "replica-0"


def with_lanes(job: Manifest, lanes: int) -> Manifest:
    """The whole job with another number of lanes."""
    spec = job.spec.model_copy(update={"lanes": lanes})
    return replace(job, model=job.model.model_copy(update={"spec": spec}))


def lanes_before(job: Manifest, must_know: bool = False) -> int | None:
    """The number of lanes with which the job ran last; None if it never ran, or its logs may not be read.

    `job` : the whole. Raises `ConnectionFailedError`; with `must_know`, `ReadTimeoutError` if its logs may not be read.
    """
    connection = KafkaConnection(job.kafka_properties(os.environ)).silent

    def configs(lanes: Iterable[Manifest]) -> Iterator[Config]:
        for lane in lanes:
            try:
                config = decisions_of(lane, connection).config
            except ReadTimeoutError as error:
                unknown(error)
                continue
            if config is not None:
                yield config

    def unknown(error: Exception) -> None:
        if must_know:
            raise error
        _log.warning("lanes_before_unknown", reason=str(error), effect="a change of spec.lanes is not noticed")

    # Of these two the later one: a log that an earlier change has closed says the number of then.
    first = (with_lanes(job, 1), with_lanes(job, 2).of_lane(0))
    config = max(configs(first), key=lambda config: config.generation, default=None)
    if config is None:  # lanes may have begun without the first
        try:
            config = next(configs(lanes_with_records(job, connection)), None)
        except (ReadTimeoutError, KafkaException) as error:  # of logs that are being made, too
            unknown(error)
    return None if config is None else lanes_of(parts_of(config.digest))


def lanes_with_records(job: Manifest, connection: KafkaConnection) -> tuple[Manifest, ...]:
    """The lanes that have a log with records, of any number of lanes. Raises `ReadTimeoutError`, `KafkaException`."""
    topics = Topics(connection)
    there = topics.all()
    lanes = {names_for(lane, _REPLICA).ordering: lane for lane in gone_lanes(with_lanes(job, 1), there)}
    ends = topics.ends({name: 1 for name in lanes if name in there}, "read_uncommitted")
    return tuple(lanes[tp.topic] for tp, end in ends.items() if end > 0)


def check_lanes_before(job: Manifest) -> None:
    """Raise `RefusedError` if the job ran with another number of lanes. `job`: the whole."""
    before = lanes_before(job)
    if before not in (None, job.spec.lanes):
        command = "" if "POD_NAME" in os.environ else accepting_command(job.path)
        raise RefusedError(
            f"{job.name} ran with {before} lane{'' if before == 1 else 's'}, and spec.lanes is {job.spec.lanes}: new lanes "
            f"would read all inputs again. {how_to_change(before, command)}"
        )


def how_to_change(before: int, command: str) -> str:
    """What to do about another number of lanes than that with which the job runs. `command`: as in `identity.Changes`."""
    as_before = f"Set it to {before}, as before"
    if command:
        return f"{as_before}; or, to change it, stop all lanes and run `{command}`"
    return (
        f"{as_before}: `kubectl apply` the whole job with spec.lanes: {before}. When it runs, apply it with another number, "
        "and spec.snapshots: the operator divides its state"
    )


def decisions_of(lane: Manifest, connection: KafkaConnection) -> Decisions:
    """What the log of a lane has decided, or of its first replica if each has its own; nothing if there is no such log."""
    topics = names_for(lane, _REPLICA)
    try:
        Topics(connection).partitions([topics.ordering, topics.commits])
        return current_decisions(connection, topics.ordering, topics.commits)
    except MissingTopicError:
        return Decisions()
