"""The status of a job with lanes: what the statuses of its lanes say together. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.plan.conditions import suspended
from tandem_operator.plan.lane_words import changing
from tandem_operator.plan.times import read_ms, written
from tandem_operator.resources.settings import Settings
from tandem_operator.status import (
    LONGEST_MESSAGE,
    MOST_LANES,
    Condition,
    ConditionStatus,
    ConditionType,
    LaneChange,
    LaneStatus,
    Phase,
    Request,
    RequestName,
    Status,
)
from tandem_operator.trim import Body

_WORST_FIRST: Final[tuple[Phase, ...]] = (
    *("Failed", "Deleting", "Degraded", "Upgrading", "Pending", "Starting", "Suspended", "Running"),
)
_BAD_IF_TRUE: Final[frozenset[ConditionType]] = frozenset({"Diverged"})
_TYPES: Final[tuple[ConditionType, ...]] = (
    *("Ready", "Replicated", "OrderingAvailable", "StandbyFresh"),
    *("Progressing", "Suspended", "Diverged", "TopicsAsDeclared"),
)
_NAMED: Final = 5
"""So many lanes are named in a condition."""


def lanes_status(
    body: Body,
    job: ReplicatedStreamJob,
    lanes: Mapping[int, Status],
    old: Status,
    settings: Settings,
    now_ms: int,
    trouble: str,
    change: LaneChange | None = None,
    requests: Mapping[RequestName, Request] | None = None,
) -> Status:
    """What the whole job's status shall be. `lanes`: of those that are there; `trouble`: what could not be done.

    `change` : that of the number of lanes; `requests`: what became of them.
    """
    count, spec = job.spec.lanes, job.spec
    ready = [lane for lane, one in lanes.items() if _is(one, "Ready")]
    lags = [one.lag for one in lanes.values() if one.lag is not None]
    generation = int(body["metadata"].get("generation", 0))
    conditions = tuple(_summed(kind, job, lanes, generation, trouble, old, now_ms, change) for kind in _TYPES)
    is_deleted, is_changing = "deletionTimestamp" in body["metadata"], change is not None and change.stage != "Refused"
    status = Status(
        phase="Upgrading" if is_changing and not is_deleted else _phase(job, lanes, is_deleted),
        observed_generation=generation,
        mode=spec.ordering.mode,
        lanes=f"{len(ready)}/{count}",
        lane_change=change,
        degraded_lanes=tuple(_degraded(lanes))[:MOST_LANES],
        lag=max(lags, default=None),
        measured_at=written(now_ms),
        active=f"{_sum(lanes, 'active')}/{spec.replicas * count}",
        standby=f"{_sum(lanes, 'standby')}/{spec.standbys * count}",
        replicas=min((one.replicas or 0 for one in lanes.values()), default=0) if len(lanes) == count else 0,
        conditions=conditions,
        history=old.history,
        requests=requests or {},
    )
    figures = {"measured_at": None, "lag": None, "degraded_lanes": ()}
    is_same = status.model_copy(update=figures) == old.model_copy(update=figures)
    changed = [(one.lane, one.phase, one.message) for one in status.degraded_lanes]
    before = [(one.lane, one.phase, one.message) for one in old.degraded_lanes]
    newest = max((read_ms(one.measured_at) for one in lanes.values() if one.measured_at), default=0)
    return old if is_same and changed == before and not _is_due(status, old, newest, settings) else status


def _is_due(status: Status, old: Status, newest_ms: int, settings: Settings) -> bool:
    """Whether lags, which change all the time, are to be written again; or, while lanes measure the same, when they did."""
    passed_s = (read_ms(status.measured_at) - read_ms(old.measured_at)) / 1000
    if status.lag != old.lag:
        return passed_s >= settings.figures_every_s
    return newest_ms > read_ms(old.measured_at) and passed_s >= settings.same_figures_every_s


def _phase(job: ReplicatedStreamJob, lanes: Mapping[int, Status], is_deleted: bool) -> Phase:
    if is_deleted:
        return "Deleting"
    phases = [one.phase or "Pending" for one in lanes.values()] + ["Pending"] * (job.spec.lanes - len(lanes))
    worst = next(phase for phase in _WORST_FIRST if phase in phases)
    if worst == "Suspended" and "Running" in phases:  # the others have not stopped, or not started yet
        return "Running" if job.spec.suspend else "Starting"
    return "Degraded" if worst == "Deleting" else worst  # lanes' jobs that somebody deletes: the whole makes them again


def _degraded(lanes: Mapping[int, Status]) -> Sequence[LaneStatus]:
    found = []
    for lane, status in sorted(lanes.items()):
        bad = [one for one in status.conditions if _is_bad(one, status.phase == "Suspended")]
        if bad or status.phase not in ("Running", "Suspended"):
            message = bad[0].message[:1024] if bad else ""
            found.append(LaneStatus(lane=lane, phase=status.phase or "Pending", lag=status.lag, message=message))
    return found


def _is_bad(condition: Condition, is_suspended: bool) -> bool:
    """Whether a lane is not as it should be. One that is suspended has no replicas, and one replica alone has no other."""
    if condition.type == "Suspended" or condition.reason == "SingleReplica":
        return False
    if is_suspended and condition.type != "Diverged":
        return False
    return condition.status == ("True" if condition.type in _BAD_IF_TRUE else "False")


def _summed(
    kind: ConditionType,
    job: ReplicatedStreamJob,
    lanes: Mapping[int, Status],
    generation: int,
    trouble: str,
    old: Status,
    now_ms: int,
    change: LaneChange | None,
) -> Condition:
    found = {lane: one for lane, status in sorted(lanes.items()) if (one := _condition(status, kind)) is not None}
    status, reason, message = _judged(kind, job.spec.lanes, found)
    if kind == "Suspended":
        said = suspended(job)
        status, reason, message = said.status, said.reason, said.message
    if kind == "Progressing" and change is not None:
        status, reason, message = changing(change)
    # A lane's own words would say to resume it.
    if kind == "Ready" and change is not None and change.stage in ("Stopping", "Dividing") and status != "True":
        _, reason, message = changing(change)
        status = "False"
    if kind == "Progressing" and trouble:
        status, reason, message = "False", "ApiRefused", trouble[:4096]
    before = _condition(old, kind)
    is_same = before is not None and before.status == status
    since = before.last_transition_time if is_same and before is not None else written(now_ms)
    return Condition(
        type=kind,
        status=status,
        reason=reason,
        message=message[:LONGEST_MESSAGE],
        last_transition_time=since,
        observed_generation=generation,
    )


def _judged(kind: ConditionType, count: int, found: Mapping[int, Condition]) -> tuple[ConditionStatus, str, str]:
    """Bad if one lane is; else unknown if one is, or says nothing yet."""
    bad: ConditionStatus = "True" if kind in _BAD_IF_TRUE else "False"
    good: ConditionStatus = "False" if bad == "True" else "True"
    wrong = {lane: one for lane, one in found.items() if one.status == bad}
    if wrong:
        words = "; ".join(f"lane {lane}: {one.message}" for lane, one in list(wrong.items())[:_NAMED])
        more = f"; and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        reason = next(iter(wrong.values())).reason
        return bad, reason, f"{len(wrong)} of {count} lanes: {words}{more}"
    silent = count - sum(one.status == good for one in found.values())
    if silent:
        return "Unknown", "LanesStart", f"{silent} of {count} lanes do not say yet"
    return good, next(iter(found.values())).reason, f"all {count} lanes"


def _condition(status: Status, kind: ConditionType) -> Condition | None:
    return next((one for one in status.conditions if one.type == kind), None)


def _is(status: Status, kind: ConditionType) -> bool:
    found = _condition(status, kind)
    return found is not None and found.status == "True"


def _sum(lanes: Mapping[int, Status], name: str) -> int:
    """Of what statuses say as `2/2`: the first number."""
    written_so = [str(getattr(one, name) or "0/0") for one in lanes.values()]
    return sum(int(text.partition("/")[0]) for text in written_so)
