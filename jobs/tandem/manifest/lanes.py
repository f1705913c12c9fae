"""A lane of a job as a job of its own: its name, and the topics, folders and ids that are named after it.

A job of N lanes is N jobs that share a manifest. Each has logs, replicas, state and snapshots of its own, so whatever holds
of a job holds of a lane, and nothing but the manifest and the topics of its user is shared.
"""

from collections.abc import Mapping

from tandem.manifest.models import ReplicatedStreamJob


def lane_name(job: str, lane: int) -> str:
    """What lane `lane` of `job` is called, in logs, ids, topics and folders; no job can have that name.

    >>> lane_name("orders", 2)
    'orders.lane-2'
    """
    return f"{job}.lane-{lane}"


def lane_of(job: ReplicatedStreamJob, lane: int) -> ReplicatedStreamJob:
    """Lane `lane` of `job`, from 0 on, as a job.

    It writes the dead letters of the whole job to one topic; other topics of Tandem's own, the checkpoint's folder and a
    fixed metrics port are its own.
    """
    spec, topics = job.spec, job.topics
    names = {
        "ordering": lane_name(topics.ordering, lane) if spec.kafka.topics.ordering else None,
        "commits": lane_name(topics.commits, lane) if spec.kafka.topics.commits else None,
        "checkpoints": lane_name(topics.checkpoints, lane) if spec.kafka.topics.checkpoints else None,
        "dead_letter": topics.dead_letter,
    }
    kafka = spec.kafka.model_copy(update={"topics": spec.kafka.topics.model_copy(update=names)})
    folder = spec.checkpoint.directory
    checkpoint = spec.checkpoint.model_copy(update={"directory": folder and f"{folder}/lane-{lane}"})
    port = spec.metrics.port
    first = port + lane * (spec.replicas + spec.standbys) if port else 0
    metrics = spec.metrics.model_copy(update={"port": first})
    own = {"kafka": kafka, "checkpoint": checkpoint, "metrics": metrics}
    metadata = job.metadata.model_copy(update={"name": lane_name(job.name, lane)})
    return job.model_copy(update={"metadata": metadata, "spec": spec.model_copy(update=own)})


def read_by(job: ReplicatedStreamJob, lane: int, inputs: Mapping[str, int]) -> dict[str, range]:
    """The partitions of `inputs` (topic → how many it has) that lane `lane` reads: p with p mod N = lane, all of tables."""
    tables = {topic for source in job.spec.sources if source.table is not None for topic in source.topics}
    count = job.spec.lanes
    return {topic: range(most) if topic in tables else range(lane, most, count) for topic, most in inputs.items()}


class UnknownLaneError(Exception):
    """The job has no such lane; or it has several, and None is given."""

    def __init__(self, job: str, lanes: int, lane: int | None) -> None:
        there = f"its lanes are 0 to {lanes - 1}" if lanes > 1 else "its spec.lanes is 1, so leave --lane out"
        wrong = f"has {lanes} lanes: say which, by --lane" if lane is None else f"has no lane {lane}"
        super().__init__(f"job {job} {wrong}; {there}")
