"""What a job with lanes, and what sources say of their partitions, must agree with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tandem.manifest.ddl import column_names
from tandem.manifest.models import ReplicatedStreamJob
from tandem.manifest.problems import Issue, Location
from tandem.manifest.streams import SinkKind, SourceSpec
from tandem.manifest.values import LONGEST_JOB_NAME, MOST_LANES

LONGEST_WHOLE: Final = LONGEST_JOB_NAME - len(f"-lane-{MOST_LANES - 1}")
_LANES: Final[Location] = ("spec", "lanes")
_NOT_BY_LANES: Final[dict[SinkKind, str]] = {
    "delta": "the lanes would commit to one Delta table at the same time, and get in each other's way",
    "iceberg": "the lanes would commit to one Iceberg table at the same time, and get in each other's way",
    "foreachBatch": "the lanes count their epochs each by itself, so the function would get every number several times",
}


def lanes_write_side_by_side(job: ReplicatedStreamJob) -> Iterator[Issue]:
    if job.spec.lanes == 1:
        return
    for index, sink in enumerate(job.spec.sinks):
        why = _NOT_BY_LANES.get(sink.kind)
        if why is not None:
            at: Location = ("spec", "sinks", index, sink.kind)
            remedy = (
                "Use a topic, parquet or postgres sink; or write a topic, and this sink by a second job without lanes"
            )
            yield Issue(at, why, remedy, (at, _LANES))


def partitions_are_of_a_topic(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for index, sink in enumerate(job.spec.sinks):
        if sink.partition_by != "key" and sink.topic is None:
            at: Location = ("spec", "sinks", index, "partitionBy")
            yield Issue(at, "only a topic has partitions", "Remove partitionBy", (at, (*at[:-1], sink.kind)))


def lanes_have_short_names(job: ReplicatedStreamJob) -> Iterator[Issue]:
    """On Kubernetes each lane is a job, and is named after the whole."""
    at: Location = ("metadata", "name")
    if job.spec.lanes > 1 and job.spec.lane_of is None and len(job.name) > LONGEST_WHOLE:
        message = f"{job.name} has {len(job.name)} characters, and a job with lanes has at most {LONGEST_WHOLE}"
        yield Issue(at, message, "Give it a shorter name: those of its pods are longer", (at, _LANES))


def a_lane_is_there(job: ReplicatedStreamJob) -> Iterator[Issue]:
    of, at = job.spec.lane_of, ("spec", "laneOf")
    if of is not None and of.lane >= job.spec.lanes:
        yield Issue(at, f"there is no lane {of.lane}", "Remove laneOf: the operator writes it", (at, _LANES))


def partitions_follow_a_column(job: ReplicatedStreamJob) -> Iterator[Issue]:
    for index, source in enumerate(job.spec.sources):
        at: Location = ("spec", "sources", index, "partitionedBy")
        if source.partitioned_by == "key":
            continue
        if source.table is not None:
            message = "every lane has all rows of a table, whatever its partitions follow"
            yield Issue(at, message, "Remove partitionedBy", (at, (*at[:-1], "table")))
        elif source.partitioned_by != "any":
            columns = _columns(source)
            if columns and source.partitioned_by not in columns:
                message = f"there is no column {source.partitioned_by}: the source has {', '.join(columns)}"
                yield Issue(at, message, "Name one of these columns, key or any", (at, (*at[:-1], "schema")))


def _columns(source: SourceSpec) -> tuple[str, ...]:
    """Of its values; none if a schema of the registry will say it."""
    if source.format == "raw":
        return ("value",)
    return () if source.schema_ddl is None else column_names(source.schema_ddl)
