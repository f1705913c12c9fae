"""The conditions of a job, each with a reason and, where something is to be done, a remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tandem_operator.observed import Observed
from tandem_operator.plan.facts import Facts
from tandem_operator.plan.times import written
from tandem_operator.plan.topics import Drift, in_words
from tandem_operator.plan.waits import all_wait, orderers_wait, waits_beside, who_waits
from tandem_operator.status import Condition, ConditionStatus, ConditionType, Status

INVALID: Final = "InvalidSpec"


@dataclass(frozen=True, slots=True)
class Said:
    """A condition without its history."""

    type: ConditionType
    status: ConditionStatus
    reason: str
    message: str


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
        _suspended(observed),
        _diverged(facts),
        _topics(observed, drift),
    )
    before = {condition.type: condition for condition in old.conditions}
    return tuple(_dated(one, before.get(one.type), observed.generation, observed.now_ms) for one in said)


def not_progressing(old: Status, reason: str, message: str, generation: int, now_ms: int) -> Condition:
    """The condition Progressing of a job that does not get on, for a reason that is not to be seen in the job."""
    return _progress(old, Said("Progressing", "False", reason, message), generation, now_ms)


def gets_on(old: Status, reason: str, message: str, generation: int, now_ms: int) -> Condition:
    """The condition Progressing of a job that does."""
    return _progress(old, Said("Progressing", "True", reason, message), generation, now_ms)


def _progress(old: Status, said: Said, generation: int, now_ms: int) -> Condition:
    before = next((condition for condition in old.conditions if condition.type == said.type), None)
    return _dated(said, before, generation, now_ms)


def with_progressing(status: Status, progressing: Condition) -> Status:
    """The status with another condition Progressing, in its place if it has one."""
    conditions = tuple(progressing if one.type == "Progressing" else one for one in status.conditions)
    more = () if progressing in conditions else (progressing,)
    return status.model_copy(update={"conditions": (*conditions, *more)})


def _dated(said: Said, before: Condition | None, generation: int, now_ms: int) -> Condition:
    is_same = before is not None and before.status == said.status
    return Condition(
        type=said.type,
        status=said.status,
        reason=said.reason,
        message=said.message,
        last_transition_time=before.last_transition_time if before and is_same else written(now_ms),
        observed_generation=generation,
    )


def _ready(observed: Observed, facts: Facts) -> Said:
    """Somebody publishes."""
    if observed.job.spec.suspend:
        return Said("Ready", "False", "Suspended", "The job is suspended. Set spec.suspend: false to resume it")
    if facts.active and (refused := _refused_by_kafka(observed)):
        return Said("Ready", "False", "RefusedByKafka", refused)
    if facts.active and (waits := all_wait(observed)):
        return Said("Ready", "False", "StillWaiting", waits)
    if facts.active:
        counted = _count(facts.active, facts.wanted_active, "active replicas have caught up")
        return Said("Ready", "True", "Active", f"{counted}{_because(who_waits(observed))}")
    if facts.refused:
        return Said("Ready", "False", "Refused", f"{facts.refused}. Fix the job; its pods retry by themselves")
    if facts.failing:
        return Said("Ready", "False", "Failing", facts.failing)
    if facts.unclear:
        return Said("Ready", "Unknown", "NoReport", "Replicas run, but do not answer the operator")
    return Said("Ready", "False", "Starting", f"No replica has caught up yet{_because(facts.hindered)}")


def _refused_by_kafka(observed: Observed) -> str:
    """What Kafka does not take from replicas or orderers, in the words of their reports; "": it takes all."""
    reports = [report for pod in observed.pods if not pod.is_gone for report in (pod.reported, pod.orderer)]
    said = [report.trouble for report in reports if report is not None and report.trouble]
    return "\n".join(dict.fromkeys(said))


def _replicated(observed: Observed, facts: Facts) -> Said:
    """A failure would be masked."""
    counted = _count(facts.active, facts.wanted_active, "active replicas have caught up")
    if observed.job.spec.suspend:
        return Said("Replicated", "False", "Suspended", "The job is suspended")
    if facts.active < facts.wanted_active:
        why = facts.refused or facts.failing or facts.hindered
        return Said("Replicated", "False", "ReplicasMissing", f"{counted}{_because(why)}")
    if facts.wanted_active == 1 and not facts.standby:
        remedy = "Set spec.replicas: 2, or spec.standbys: 1"
        return Said("Replicated", "False", "SingleReplica", f"One replica cannot mask a failure. {remedy}")
    return Said("Replicated", "True", "AllActive", counted)


def _ordering(observed: Observed, facts: Facts, leader: str | None) -> Said:
    """Somebody cuts epochs."""
    mode = observed.job.spec.ordering.mode
    if observed.job.spec.suspend:
        return Said("OrderingAvailable", "False", "Suspended", "The job is suspended")
    if mode == "none":
        return Said("OrderingAvailable", "True", "EachForItself", "Each replica cuts its own epochs")
    if waits := orderers_wait(observed):
        return Said("OrderingAvailable", "False", "StillWaiting", waits)
    if mode == "heartbeat":
        wanted = observed.job.spec.ordering.generators
        counted = _count(facts.beating, wanted, "generators beat")
        if facts.beating:
            return Said("OrderingAvailable", "True", "Beating", counted)
        return Said("OrderingAvailable", "False", "NoBeat", counted)
    if leader is not None:
        return Said("OrderingAvailable", "True", "Elected", f"{leader} leads")
    if facts.unclear:
        return Said("OrderingAvailable", "Unknown", "NoReport", "Not all orderers answer the operator")
    return Said("OrderingAvailable", "False", "NoLeader", "No orderer leads: is ZooKeeper reachable from the pods?")


def _with_held_inputs(observed: Observed, said: Said) -> Said:
    """Cutting goes on, but not beyond a transaction that a producer of an input left open."""
    seen = {
        (held.topic, held.partition): held
        for pod in observed.pods
        if pod.orderer is not None
        for held in sorted(pod.orderer.held, key=lambda one: one.seconds)
    }
    if said.status != "True" or not seen:
        return said
    return Said(said.type, said.status, "InputHeldBack", "\n".join(seen[tp].words for tp in sorted(seen)))


def _standby(observed: Observed, facts: Facts) -> Said:
    """All standbys could take over with the state that they have."""
    if not facts.wanted_standby:
        return Said("StandbyFresh", "True", "NoneAskedFor", "The job has no standbys")
    if observed.job.spec.suspend:
        return Said("StandbyFresh", "False", "Suspended", "The job is suspended")
    counted = _count(facts.standby, facts.wanted_standby, "standbys follow")
    if facts.standby < facts.wanted_standby:
        return Said("StandbyFresh", "False", "StandbysMissing", f"{counted}{_because(facts.failing or facts.hindered)}")
    if facts.unclear:
        return Said("StandbyFresh", "Unknown", "NoReport", "Not all replicas answer the operator")
    if facts.verified < facts.wanted_standby <= facts.verified + facts.unprovable:
        said = f"{counted}; nothing was published since then that could verify their state"
        return Said("StandbyFresh", "True", "NothingToProve", said)
    if facts.verified < facts.wanted_standby:
        said = facts.unfit or "not all have verified their state yet"
        return Said("StandbyFresh", "False", "NotVerified", f"{counted}, but {said}")
    return Said("StandbyFresh", "True", "Verified", counted)


def _progressing(observed: Observed, facts: Facts) -> Said:
    """The job is as specified, or is getting there by itself."""
    if observed.invalid:
        said = f"{observed.invalid}. Until that is fixed, pods use the last revision that worked"
        return Said("Progressing", "False", INVALID, said)
    if observed.job.spec.suspend:
        return Said("Progressing", "True", "Suspended", "The job is suspended")
    if facts.held:
        return _held(facts)
    if facts.failed:
        return _rolled_back(facts)
    if facts.stalled:
        return Said(
            "Progressing",
            "False",
            "RolloutStalled",
            f"{facts.stalled}. The other replicas were left unchanged. Fix the job or revert the change",
        )
    if facts.rolling:
        said = f"Replicas are being replaced, one at a time{_because(facts.hindered)}"
        return Said("Progressing", "True", "RollingOut", said)
    missing = facts.active < facts.wanted_active or facts.standby < facts.wanted_standby
    trouble = facts.refused or facts.failing
    if missing and trouble:
        return Said("Progressing", "False", "Refused" if facts.refused else "Failing", f"{trouble}. Fix the job")
    if facts.beside:
        return Said("Progressing", "False", "Failing", f"{facts.beside}. Fix the job")
    if missing and facts.hindered:
        return Said("Progressing", "True", "PodWaits", facts.hindered)
    if missing:
        return Said("Progressing", "True", "Starting", "Replicas start")
    beside = waits_beside(observed)
    return Said("Progressing", "True", "Complete", f"The job is as specified{_because(beside)}")


def _held(facts: Facts) -> Said:
    """The spec asks for another generation than the one that runs."""
    if facts.failed:
        remedy = "Fix the job or revert the change; or change spec.restartNonce to retry"
        said = f"{facts.failed}. The running generation continues unchanged. {remedy}"
        return Said("Progressing", "False", "UpgradeFailed", said)
    if facts.upgrading:
        reason, said = facts.upgrading
        return Said("Progressing", "True", reason, f"{said}{_because(facts.hindered)}")
    said = f"The spec asks for another configuration than the running one, which continues unchanged: {facts.needs}"
    remedy = (
        "Such a change needs a new generation from a savepoint (docs/how-to/upgrade-a-job.md). Or revert the change"
    )
    return Said("Progressing", "False", "ConfigurationChanged", f"{said}. {remedy}")


def _rolled_back(facts: Facts) -> Said:
    trouble = facts.stalled if facts.rolling else facts.refused or facts.failing or facts.beside
    is_news = bool(trouble) and not facts.failed.startswith(trouble.rstrip(". "))
    more = f". But now {trouble}" if is_news else ""
    if facts.rolling or facts.active < facts.wanted_active or facts.standby < facts.wanted_standby:
        said = f"{facts.failed}. Replicas are being replaced with the last revision that worked, one at a time{more}"
        return Said("Progressing", "False", "RollingBack", said)
    remedy = (
        "Fix the job, or change spec.restartNonce to retry. If the code or versions changed on purpose, "
        "also change an option, so that a new generation starts (docs/how-to/upgrade-a-job.md)"
    )
    said = f"{facts.failed}. The job runs the last revision that worked{more}. {remedy}"
    return Said("Progressing", "False", "RolledBack", said)


def _suspended(observed: Observed) -> Said:
    if observed.job.spec.suspend:
        return Said("Suspended", "True", "AskedFor", "spec.suspend is set. Set spec.suspend: false to resume the job")
    return Said("Suspended", "False", "NotAskedFor", "The job is not suspended")


def _diverged(facts: Facts) -> Said:
    if not facts.diverged:
        return Said("Diverged", "False", "Equal", "No replica computed other rows than the published ones")
    names = ", ".join(facts.diverged)
    return Said(
        "Diverged",
        "True",
        "OtherRows",
        f"{names} computed other rows than the published ones. See the log of its pod",
    )


def _topics(observed: Observed, drift: Drift | None) -> Said:
    """Tandem's own topics are as it would make them."""
    if observed.job.spec.suspend:
        return Said("TopicsAsDeclared", "Unknown", "Suspended", "The job is suspended: its topics are not checked")
    if drift is None:
        return Said("TopicsAsDeclared", "Unknown", "NoReport", "No replica has checked the job's topics yet")
    if not drift:
        return Said("TopicsAsDeclared", "True", "AsDeclared", "The job's own topics are as declared")
    return Said("TopicsAsDeclared", "False", "TopicDrift", "\n".join(in_words(one) for one in drift))


def _count(have: int, wanted: int, what: str) -> str:
    return f"{have} of {wanted} {what}"


def _because(text: str) -> str:
    return f". {text}" if text else ""
