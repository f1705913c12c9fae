"""The conditions of a job, each with a reason and, where something is to be done, a remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.observed import Observed
from tandem_operator.plan.facts import Facts
from tandem_operator.plan.generators import is_without_a_beat
from tandem_operator.plan.lane_words import changing
from tandem_operator.plan.rollout_words import because, held, rolled_back
from tandem_operator.plan.suspension import suspending
from tandem_operator.plan.times import written
from tandem_operator.plan.topics import Drift, in_words
from tandem_operator.plan.waits import all_wait, orderers_wait, waits_beside, who_waits
from tandem_operator.status import LONGEST_MESSAGE, Condition, ConditionStatus, ConditionType, Status

INVALID: Final = "InvalidSpec"
_NO_BEAT: Final = "No replica that works leaves before a heartbeat generator beats"
_NOT_LOOKED_AT: Final = "Not known: the operator does not look at the job's pods. See the condition Progressing"
_NAMED: Final = 5
"""So many inputs that are held back are named."""


@dataclass(frozen=True, slots=True)
class ConditionUpdate:
    """A condition without its history."""

    type: ConditionType
    status: ConditionStatus
    reason: str
    message: str


_NOT_SUSPENDED: Final = ConditionUpdate("Suspended", "False", "NotAskedFor", "The job is not suspended")


def conditions_of(
    observed: Observed, facts: Facts, leader: str | None, drift: Drift | None, old: Status
) -> tuple[Condition, ...]:
    """All of them, each with the time since when its status is as it is."""
    said = (
        _ready(observed, facts),
        _replicated(observed, facts),
        _with_held_inputs(observed, _ordering(observed, facts, leader)),
        _standby(observed, facts),
        _progressing(observed, facts),
        suspended(observed.job) if observed.lane_change is None else _NOT_SUSPENDED,
        _diverged(facts),
        _topics(observed, drift),
    )
    before = {condition.type: condition for condition in old.conditions}
    return tuple(_dated(one, before.get(one.type), observed.generation, observed.now_ms) for one in said)


def not_progressing(old: Status, reason: str, message: str, generation: int, now_ms: int) -> Condition:
    """The condition Progressing of a job that does not get on, for a reason that is not to be seen in the job."""
    return _progress(old, ConditionUpdate("Progressing", "False", reason, message), generation, now_ms)


def progressing(old: Status, reason: str, message: str, generation: int, now_ms: int) -> Condition:
    """The condition Progressing of a job that does."""
    return _progress(old, ConditionUpdate("Progressing", "True", reason, message), generation, now_ms)


def not_looked_at(old: Status, reason: str, generation: int, now_ms: int) -> tuple[Condition, ...]:
    """The conditions of a job that nobody looks at: what was true of its pods may be so no longer.

    What the spec says stays, and that a replica computed other rows: that does not go away by itself.
    """
    said = (ConditionUpdate(one.type, "Unknown", reason, _NOT_LOOKED_AT) for one in old.conditions)
    return tuple(
        before
        if before.type in ("Progressing", "Suspended") or (before.type, before.status) == ("Diverged", "True")
        else _dated(one, before, generation, now_ms)
        for one, before in zip(said, old.conditions, strict=True)
    )


def _progress(old: Status, said: ConditionUpdate, generation: int, now_ms: int) -> Condition:
    before = next((condition for condition in old.conditions if condition.type == said.type), None)
    return _dated(said, before, generation, now_ms)


def with_progressing(status: Status, progressing: Condition) -> Status:
    """The status with another condition Progressing, in its place if it has one."""
    conditions = tuple(progressing if one.type == "Progressing" else one for one in status.conditions)
    more = () if progressing in conditions else (progressing,)
    return status.model_copy(update={"conditions": (*conditions, *more)})


def _dated(said: ConditionUpdate, before: Condition | None, generation: int, now_ms: int) -> Condition:
    is_same = before is not None and before.status == said.status
    return Condition(
        type=said.type,
        status=said.status,
        reason=said.reason,
        message=said.message[:LONGEST_MESSAGE],
        last_transition_time=before.last_transition_time if before and is_same else written(now_ms),
        observed_generation=generation,
    )


def _ready(observed: Observed, facts: Facts) -> ConditionUpdate:
    """Somebody publishes."""
    if observed.job.spec.suspend:
        remedy = (
            ". Set spec.suspend: false to resume it" if observed.lane_change is None else " for a change of its lanes"
        )
        return ConditionUpdate("Ready", "False", "Suspended", f"The job is suspended{remedy}")
    if facts.active and (refused := _refused_by_kafka(observed)):
        return ConditionUpdate("Ready", "False", "RefusedByKafka", refused)
    if facts.active and (waits := all_wait(observed)):
        return ConditionUpdate("Ready", "False", "StillWaiting", waits)
    if facts.active:
        counted = _count(facts.active, facts.wanted_active, "active replicas have caught up")
        return ConditionUpdate("Ready", "True", "Active", f"{counted}{because(who_waits(observed))}")
    if facts.refused:
        return ConditionUpdate(
            "Ready", "False", "Refused", f"{facts.refused}. Fix the job; its pods retry by themselves"
        )
    if facts.failing:
        return ConditionUpdate("Ready", "False", "Failing", facts.failing)
    if facts.unclear:
        return ConditionUpdate("Ready", "Unknown", "NoReport", "Replicas run, but do not answer the operator")
    return ConditionUpdate("Ready", "False", "Starting", f"No replica has caught up yet{because(facts.blocked)}")


def _refused_by_kafka(observed: Observed) -> str:
    """What Kafka does not take from replicas or orderers, in the words of their reports; "": it takes all."""
    reports = [report for pod in observed.pods if not pod.is_gone for report in (pod.reported, pod.orderer)]
    said = [report.trouble for report in reports if report is not None and report.trouble]
    return "\n".join(dict.fromkeys(said))


def _replicated(observed: Observed, facts: Facts) -> ConditionUpdate:
    """A failure would be masked."""
    counted = _count(facts.active, facts.wanted_active, "active replicas have caught up")
    if observed.job.spec.suspend:
        return ConditionUpdate("Replicated", "False", "Suspended", "The job is suspended")
    if facts.active < facts.wanted_active:
        why = facts.refused or facts.failing or facts.blocked
        return ConditionUpdate("Replicated", "False", "ReplicasMissing", f"{counted}{because(why)}")
    if facts.wanted_active == 1 and not facts.standby:
        remedy = "Set spec.replicas: 2, or spec.standbys: 1"
        return ConditionUpdate("Replicated", "False", "SingleReplica", f"One replica cannot mask a failure. {remedy}")
    return ConditionUpdate("Replicated", "True", "AllActive", counted)


def _ordering(observed: Observed, facts: Facts, leader: str | None) -> ConditionUpdate:
    """Somebody cuts epochs."""
    mode = observed.job.spec.ordering.mode
    if observed.job.spec.suspend:
        return ConditionUpdate("OrderingAvailable", "False", "Suspended", "The job is suspended")
    if mode == "none":
        return ConditionUpdate("OrderingAvailable", "True", "EachForItself", "Each replica cuts its own epochs")
    if waits := orderers_wait(observed):
        return ConditionUpdate("OrderingAvailable", "False", "StillWaiting", waits)
    if mode == "heartbeat":
        wanted = observed.job.spec.ordering.generators
        counted = _count(facts.beating, wanted, "generators beat")
        if facts.beating:
            return ConditionUpdate("OrderingAvailable", "True", "Beating", counted)
        return ConditionUpdate("OrderingAvailable", "False", "NoBeat", counted)
    if leader is not None:
        return ConditionUpdate("OrderingAvailable", "True", "Elected", f"{leader} leads")
    if facts.unclear:
        return ConditionUpdate("OrderingAvailable", "Unknown", "NoReport", "Not all orderers answer the operator")
    return ConditionUpdate(
        "OrderingAvailable", "False", "NoLeader", "No orderer leads. Is ZooKeeper reachable from pods?"
    )


def _with_held_inputs(observed: Observed, said: ConditionUpdate) -> ConditionUpdate:
    """Cutting goes on, but not beyond a transaction that a producer of an input left open."""
    seen = {
        (held.topic, held.partition): held
        for pod in observed.pods
        if pod.orderer is not None
        for held in sorted(pod.orderer.held, key=lambda one: one.seconds)
    }
    if said.status != "True" or not seen:
        return said
    words = [seen[tp].words for tp in sorted(seen)]
    more = [f"and {len(words) - _NAMED} more partitions"] if len(words) > _NAMED else []
    return ConditionUpdate(said.type, said.status, "InputHeldBack", "\n".join((*words[:_NAMED], *more)))


def _standby(observed: Observed, facts: Facts) -> ConditionUpdate:
    """All standbys could take over with the state that they have."""
    if not facts.wanted_standby:
        return ConditionUpdate("StandbyFresh", "True", "NoneAskedFor", "The job has no standbys")
    if observed.job.spec.suspend:
        return ConditionUpdate("StandbyFresh", "False", "Suspended", "The job is suspended")
    counted = _count(facts.standby, facts.wanted_standby, "standbys follow")
    if facts.standby < facts.wanted_standby:
        return ConditionUpdate(
            "StandbyFresh", "False", "StandbysMissing", f"{counted}{because(facts.failing or facts.blocked)}"
        )
    if facts.unclear:
        return ConditionUpdate("StandbyFresh", "Unknown", "NoReport", "Not all replicas answer the operator")
    if facts.verified < facts.wanted_standby <= facts.verified + facts.unprovable:
        said = f"{counted}; nothing was published since then that could verify their state"
        return ConditionUpdate("StandbyFresh", "True", "NothingToProve", said)
    if facts.verified < facts.wanted_standby:
        said = facts.unfit or "not all have verified their state yet"
        return ConditionUpdate("StandbyFresh", "False", "NotVerified", f"{counted}, but {said}")
    return ConditionUpdate("StandbyFresh", "True", "Verified", counted)


def _progressing(observed: Observed, facts: Facts) -> ConditionUpdate:
    """The job is as specified, or is getting there by itself."""
    if observed.invalid:
        said = f"{observed.invalid}. Until that is fixed, pods use the last revision that worked"
        return ConditionUpdate("Progressing", "False", INVALID, said)
    if observed.lane_change is not None:
        return ConditionUpdate("Progressing", *changing(observed.lane_change))
    if observed.job.spec.suspend:
        return ConditionUpdate("Progressing", "True", *suspending(observed))
    if facts.held:
        return ConditionUpdate("Progressing", *held(facts))
    if facts.failed:
        return ConditionUpdate("Progressing", *rolled_back(facts))
    if facts.stalled:
        return ConditionUpdate(
            "Progressing",
            "False",
            "RolloutStalled",
            f"{facts.stalled}. The other replicas were left unchanged. Fix the job or revert the change",
        )
    if facts.rolling:
        waits = because(_NO_BEAT if is_without_a_beat(observed) else "")
        said = f"Replicas are being replaced, one at a time{waits}{because(facts.blocked)}"
        return ConditionUpdate("Progressing", "True", "RollingOut", said)
    missing = facts.active < facts.wanted_active or facts.standby < facts.wanted_standby
    trouble = facts.refused or facts.failing
    if missing and trouble:
        return ConditionUpdate(
            "Progressing", "False", "Refused" if facts.refused else "Failing", f"{trouble}. Fix the job"
        )
    if facts.beside:
        return ConditionUpdate("Progressing", "False", "Failing", f"{facts.beside}. Fix the job")
    if missing and facts.blocked:
        return ConditionUpdate("Progressing", "True", "PodWaits", facts.blocked)
    if missing:
        return ConditionUpdate("Progressing", "True", "Starting", "Replicas start")
    beside = waits_beside(observed)
    return ConditionUpdate("Progressing", "True", "Complete", f"The job is as specified{because(beside)}")


def suspended(job: ReplicatedStreamJob) -> ConditionUpdate:
    """What the spec asks for."""
    if job.spec.suspend:
        return ConditionUpdate("Suspended", "True", "AskedFor", "Set spec.suspend: false to resume the job")
    return _NOT_SUSPENDED


def _diverged(facts: Facts) -> ConditionUpdate:
    if not facts.diverged:
        return ConditionUpdate("Diverged", "False", "Equal", "No replica computed other rows than the published ones")
    names = ", ".join(facts.diverged)
    return ConditionUpdate(
        "Diverged",
        "True",
        "OtherRows",
        f"{names} computed other rows than the published ones. See the log of its pod",
    )


def _topics(observed: Observed, drift: Drift | None) -> ConditionUpdate:
    """Tandem's own topics are as it would make them."""
    if observed.job.spec.suspend:
        return ConditionUpdate("TopicsAsDeclared", "Unknown", "Suspended", "Suspended: its topics are not checked")
    if drift is None:
        return ConditionUpdate("TopicsAsDeclared", "Unknown", "NoReport", "No replica has checked the job's topics yet")
    if not drift:
        return ConditionUpdate("TopicsAsDeclared", "True", "AsDeclared", "The job's own topics are as declared")
    return ConditionUpdate("TopicsAsDeclared", "False", "TopicDrift", "\n".join(in_words(one) for one in drift))


def _count(have: int, wanted: int, what: str) -> str:
    return f"{have} of {wanted} {what}"
