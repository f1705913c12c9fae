"""The status of a ReplicatedStreamJob, as `kubectl get -o yaml` shows it; the CRD's schema of it is made from this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from tandem.manifest import OrderingMode

LONGEST_HISTORY: Final = 10
"""So many entries of the history are kept; the oldest go first."""

LONGEST_REQUEST: Final = 1024
"""So many characters of a request count."""

LONGEST_ANSWER: Final = 1024
"""And so many of what became of it."""

MOST_LANES: Final = 32
"""So many lanes that are not as they should be are named."""

LONGEST_FAILURE: Final = 4096
"""So many characters of what failed are kept: more than the last words of a container can be."""

Phase = Literal["Pending", "Starting", "Running", "Degraded", "Suspended", "Upgrading", "Failed", "Deleting"]
ConditionType = Literal[
    "Ready",
    "Replicated",
    "OrderingAvailable",
    "StandbyFresh",
    "Progressing",
    "Suspended",
    "Diverged",
    "TopicsAsDeclared",
]
ConditionStatus = Literal["True", "False", "Unknown"]
Role = Literal["active", "standby", "starting", "generator"]
LaneStage = Literal["Checking", "Stopping", "Dividing", "Beginning", "Refused"]
RequestName = Literal["promote", "drain", "fence", "savepoint", "restartNonce", "savepointNonce"]
Outcome = Literal["Pending", "Done", "Refused"]

Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""RFC 3339, in UTC: `2026-11-21T21:00:00Z`."""
Number = Annotated[int, Field(ge=0)]


class Part(BaseModel):
    """A mapping of the status: camelCase in the API, snake_case in Python, frozen; unknown keys are passed over."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        serialize_by_alias=True,
    )


LONGEST_MESSAGE: Final = 32_768
"""Of a condition: Kubernetes' own bound."""


class Condition(Part):
    """One thing that is true of the job, or not; the shape is Kubernetes' own."""

    type: ConditionType = Field(description="What the condition is about")
    status: ConditionStatus = Field(description="Whether it is so; Unknown: it could not be asked")
    reason: str = Field(
        max_length=1024,
        pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        description="Why, in one UpperCamelCase word",
    )
    message: str = Field(max_length=LONGEST_MESSAGE, description="Why, in words, and what to do about it")
    last_transition_time: Time = Field(description="Since when the status is as it is")
    observed_generation: Number | None = Field(
        default=None, description="The generation of the spec that it was said of"
    )


class ConfigHashes(Part):
    """Which configuration the members run, and which one the spec asks for; they differ during an upgrade."""

    current: str | None = Field(default=None, description="Of the members that publish")
    target: str | None = Field(default=None, description="Of the spec")


class Revisions(Part):
    """Which revision of the job is known to work, and which one the spec asks for; each is named by a hash."""

    current: str | None = Field(default=None, description="The last one that all replicas worked with")
    target: str | None = Field(default=None, description="Of the spec")
    failed: str | None = Field(default=None, description="The target, if it failed and the job is rolled back")
    failure: str | None = Field(default=None, max_length=LONGEST_FAILURE, description="How it failed")


class Upgrade(Part):
    """An upgrade to another generation that is under way."""

    revision: str = Field(description="The revision of the job that the generation is of")
    savepoint: str = Field(description="The savepoint that it begins with; empty: none, for a job that stands still")
    saved: bool = Field(default=False, description="Whether the savepoint is made")
    since: Time | None = Field(
        default=None, description="Since when its pods are created, without a break; none: none is"
    )


class MemberStatus(Part):
    """A replica and the pod that it lives in."""

    name: str = Field(description="The replica, e.g. replica-0; it keeps the name when its pod is replaced")
    pod: str | None = Field(default=None, description="Its pod")
    node: str | None = Field(default=None, description="The node of the pod")
    role: Role | None = Field(default=None, description="What it does: the slots in ZooKeeper decide")
    epoch: int | None = Field(
        default=None, ge=-1, description="The last epoch in its state: computed, restored, or followed; -1: none yet"
    )
    lag_records: Number | None = Field(
        default=None, description="Records of epochs that it has not computed yet; none while it cannot know"
    )
    lag_seconds: float | None = Field(
        default=None, ge=0, description="Age of the oldest epoch that it has not computed; 0 at the head"
    )
    ready: bool = Field(
        default=False, description="Whether it is at the head of the log, or follows as a standby should"
    )


class TopicDifference(Part):
    """How one of Tandem's own topics differs from what it should be."""

    topic: str = Field(max_length=256, description="The topic")
    difference: str = Field(max_length=1024, description="What is otherwise, in words")
    remedy: str = Field(max_length=1024, description="What to do about it, in words or as a command")


class Failover(Part):
    """Who took over the publication from whom."""

    time: Time = Field(description="When it was noticed")
    from_: str | None = Field(default=None, alias="from", description="The replica that published before")
    to: str | None = Field(default=None, description="The replica that publishes since")
    epoch: int | None = Field(default=None, ge=-1, description="The first epoch that the new one published")
    gap_ms: Number | None = Field(default=None, description="How long the output was silent, in milliseconds")


class HistoryEntry(Part):
    """Something that happened to the job and is worth remembering when its events are gone."""

    time: Time = Field(description="When it happened")
    reason: str = Field(max_length=128, description="What happened, in one UpperCamelCase word, as in the event")
    message: str = Field(default="", max_length=1024, description="What happened, in words")
    generation: Number | None = Field(default=None, description="The generation of the spec at that time")
    epoch: int | None = Field(default=None, ge=-1, description="The last published epoch at that time")


class Request(Part):
    """A request, made once by an annotation or a nonce, and its outcome."""

    value: str = Field(
        max_length=LONGEST_REQUEST, description="What was requested: the annotation's value, or the nonce"
    )
    outcome: Outcome = Field(description="Pending: under way; Done; Refused: it cannot be done, the message says why")
    message: str = Field(
        default="", max_length=LONGEST_ANSWER, description="What was done, or why not and what to do instead"
    )
    time: Time | None = Field(default=None, description="When the outcome was written")


class LaneChange(Part):
    """A change of the number of lanes that is under way, or was refused."""

    before: Number = Field(description="With how many lanes the job runs, or ran")
    to: Number = Field(description="With how many it is to run")
    stage: LaneStage = Field(
        description="Checking: whether it can be done, while the job runs; Stopping: the lanes stop; Dividing: their states "
        "are divided, and their logs written; Beginning: the new lanes start; Refused: they go on as they were"
    )
    attempt: Number = Field(default=1, description="How often the task of this stage was tried")
    generation: Number = Field(description="The generation of the spec that asked for it")
    since: Time = Field(description="Since when it is at this stage")
    message: str = Field(
        default="",
        max_length=LONGEST_FAILURE,
        description="Why it was refused, or what the task of this stage waits for",
    )
    retry_at: Time | None = Field(default=None, description="When the task is tried again that has failed")


class LaneStatus(Part):
    """A lane that is not as it should be."""

    lane: Number = Field(description="The lane")
    phase: str = Field(max_length=64, description="Its job's phase")
    lag: Number | None = Field(default=None, description="Records that no replica of it has computed yet")
    message: str = Field(default="", max_length=1024, description="What is not as it should be")


class Status(Part):
    """What the operator knows of the job."""

    phase: Phase | None = Field(default=None, description="The job in one word; the conditions say more")
    observed_generation: Number | None = Field(
        default=None, description="The generation of the spec that the rest was written after"
    )
    mode: OrderingMode | None = Field(default=None, description="Who orders: leader, heartbeat or none")
    engine: str | None = Field(
        default=None,
        max_length=LONGEST_FAILURE,
        description="What computes epochs, and why, if spec.engine is auto: `microBatch: the job has a Python UDF (f)`",
    )
    leader: str | None = Field(default=None, description="The orderer that cuts the epochs, in mode leader")
    publisher: str | None = Field(default=None, description="The replica that published the last epoch")
    epoch: int | None = Field(default=None, ge=-1, description="The last published epoch; -1: none yet")
    lag: Number | None = Field(default=None, description="Records that no replica has computed yet")
    measured_at: Time | None = Field(
        default=None, description="When epochs and lags were read; they alone are written once in a while only"
    )
    lanes: str | None = Field(
        default=None, description="Of a job with lanes: those that are ready, and all: 7/8. Each is a job of its own"
    )
    degraded_lanes: tuple[LaneStatus, ...] = Field(
        default=(), max_length=MOST_LANES, description="The lanes that are not as they should be, the first of them"
    )
    lane_change: LaneChange | None = Field(
        default=None, description="The change of the number of lanes that is under way, or was refused"
    )
    active: str | None = Field(default=None, description="Active replicas that are ready, and asked for: 2/2")
    standby: str | None = Field(default=None, description="Standbys that are fresh, and asked for: 1/1")
    replicas: Number | None = Field(default=None, description="Active replicas that are ready; for `kubectl scale`")
    selector: str | None = Field(default=None, description="The labels of the members' pods; for `kubectl scale`")
    config_hash: ConfigHashes | None = Field(
        default=None, description="Which configuration runs, and which is asked for"
    )
    revision: Revisions | None = Field(
        default=None, description="Which revision of the job is known to work, and which is asked for"
    )
    upgrade: Upgrade | None = Field(default=None, description="The upgrade to another generation that is under way")
    conditions: tuple[Condition, ...] = Field(
        default=(), max_length=16, description="What is true of the job: see the condition's type"
    )
    members: tuple[MemberStatus, ...] = Field(
        default=(), max_length=300, description="Replicas and generators, one by one"
    )
    topic_drift: tuple[TopicDifference, ...] = Field(
        default=(), max_length=32, description="How the job's own topics differ from what they should be"
    )
    last_failover: Failover | None = Field(default=None, description="The last time another replica took over")
    history: tuple[HistoryEntry, ...] = Field(
        default=(), max_length=LONGEST_HISTORY, description="What happened last, the newest at the end"
    )
    requests: Mapping[RequestName, Request] = Field(
        default_factory=dict, description="Requests that were carried out or refused, by their name"
    )


def read_status(tree: Mapping[str, object]) -> Status:
    """A status as the API has it; empty if it cannot be read, as one that another version wrote may not be."""
    try:
        return Status.model_validate(dict(tree))
    except ValidationError:
        return Status()
