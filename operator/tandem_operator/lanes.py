"""A job with lanes on Kubernetes: each lane is a ReplicatedStreamJob that the operator makes, changes and sums up. Pure.

A lane's job is like any other: its pods, slots, savepoints, rollouts and repairs are its own. The whole job has no pods; it
owns its lanes' jobs as a Deployment owns its ReplicaSets. A change of its spec goes to so many lanes at a time as may be
unavailable; one of the number of lanes to all of them, see `lane_change`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tandem.manifest import API_VERSION, KIND, ReplicatedStreamJob
from tandem_operator.actions import Action, Apply, Ask, Delete, Emit, SetStatus
from tandem_operator.lane_change import count_of_lanes, lanes_step
from tandem_operator.lane_edits import REQUESTS, edits
from tandem_operator.lane_requests import lane_requests
from tandem_operator.lane_seen import LaneSeen, lane_job_name
from tandem_operator.lane_task import LaneTask, unneeded_tasks
from tandem_operator.lanes_status import lanes_status
from tandem_operator.manifests import job_of
from tandem_operator.observed import TaskSeen
from tandem_operator.plan.deletion import finalized
from tandem_operator.plan.events import events_of
from tandem_operator.plan.status import as_object
from tandem_operator.resources.names import (
    APPLIED,
    LANE,
    LANES_OF,
    MANAGED_BY,
    MANAGER,
    NAME,
    owner_reference,
    stamped,
)
from tandem_operator.resources.settings import Settings
from tandem_operator.status import Status, read_status
from tandem_operator.trim import Body


def has_lanes(job: ReplicatedStreamJob, status: Status) -> bool:
    """Whether it is a whole job with several lanes, or was one when its status was written."""
    return job.spec.lane_of is None and (job.spec.lanes > 1 or bool(status.lanes) or status.lane_change is not None)


def whole_of_body(body: Body) -> str:
    """The name of the whole job, if `body` is a lane's job, else ""."""
    return str(body["metadata"].get("labels", {}).get(LANES_OF, ""))


def wanted_lane(body: Body, job: ReplicatedStreamJob, lane: int) -> dict[str, Any]:
    """The job of a lane, as it shall be. `body`: the whole job; `job`: what was read of that.

    When it is deleted, by whatever, its topics and snapshots stay: they go with the whole, see `lanes_end`.
    """
    spec = {name: value for name, value in body["spec"].items() if name not in REQUESTS}
    labels = {NAME: "tandem", MANAGED_BY: MANAGER, LANES_OF: job.name, LANE: str(lane)}
    return stamped(
        {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {
                "name": lane_job_name(job.name, lane),
                "namespace": job.metadata.namespace,
                "labels": {**body["metadata"].get("labels", {}), **labels},
                "ownerReferences": [owner_reference(job, body["metadata"]["uid"])],
            },
            "spec": {**spec, "deletionPolicy": "Retain", "laneOf": {"job": job.name, "lane": lane}},
        }
    )


def with_lanes(body: Body, lanes: int) -> Body:
    """The whole job with another number of lanes."""
    return body if body["spec"].get("lanes") == lanes else {**body, "spec": {**body["spec"], "lanes": lanes}}


def stopped_lane(body: Body, job: ReplicatedStreamJob, lane: int, spec: Mapping[str, Any]) -> dict[str, Any]:
    """The job of a lane with that spec, but that it has no pods."""
    return wanted_lane({**body, "spec": {**spec, "suspend": True}}, job, lane)


def next_lane(body: Body, job: ReplicatedStreamJob, lane: int, one: LaneSeen | None) -> dict[str, Any]:
    """What the job of a lane becomes next, on the way to `wanted_lane`. `one`: as it is; None: it is not there.

    The API server lets a job change its snapshot store only where it is suspended before and after (`snapshot-store-stays`).
    The whole may have been suspended, changed and resumed before any pass has seen it so.
    """
    if one is None or _store(one.spec) in (None, _store(body["spec"])):
        return wanted_lane(body, job, lane)
    return stopped_lane(body, job, lane, body["spec"] if one.as_job.has_stopped else one.spec)


def _store(spec: Mapping[str, Any]) -> str | None:
    store: str | None = (spec.get("snapshots") or {}).get("store")
    return store


def plan_lanes(
    body: Body,
    job: ReplicatedStreamJob,
    lanes: Mapping[int, LaneSeen],
    settings: Settings,
    now_ms: int,
    trouble: str = "",
    tasks: Sequence[TaskSeen] = (),
) -> tuple[Action, ...]:
    """What a pass over the whole job does. `trouble`: what the API server refused lately; `tasks`: of the whole job.

    Its finalizer comes first, and alone: what follows is of the version of the job that has it.
    """
    metadata = body["metadata"]
    held = finalized(job, metadata.get("finalizers", ()), metadata.get("resourceVersion", ""))
    if held and not trouble:
        return held
    old = read_status(body.get("status", {}))
    task = LaneTask.of(body, old.lane_change, settings)
    seen = None if task is None else task.seen(tasks)
    jobs = {lane: one.as_job for lane, one in lanes.items()}
    generation = int(metadata.get("generation", 0))
    step = lanes_step(job.spec.lanes, generation, old.lane_change, jobs, seen, now_ms)
    body = with_lanes(body, step.lanes)
    job = job if job.spec.lanes == step.lanes else job_of(body)
    fitting = {lane: one for lane, one in lanes.items() if one.lanes == step.lanes}
    said = {lane: one.status for lane, one in fitting.items()}
    requests = lane_requests(body, job, fitting, old, step.change, now_ms)
    status = lanes_status(body, job, said, old, settings, now_ms, trouble, step.change, requests.by_name)
    has_none = step.holds or step.lanes == 1  # a job of one lane has pods of its own
    wanted = {} if has_none else {lane: wanted_lane(body, job, lane) for lane in range(step.lanes)}
    missing = [lane for lane in wanted if lane not in lanes]
    return (
        *(
            Apply(stopped_lane(body, job, lane, lanes[lane].spec if lane in lanes else body["spec"]))
            for lane in sorted(step.stops)
        ),
        *(Delete(KIND, lane_job_name(job.name, lane), lanes[lane].uid) for lane in sorted(step.removes)),
        *(() if task is None or seen is not None or step.task is None else task.made()),
        *unneeded_tasks(job.name, tasks, task),
        *requests.asks,
        *_applied(body, job, fitting, _next(job, missing, fitting, wanted)),
        *(() if trouble else _made(missing, wanted)),
        *((Emit("Normal", "LanesChanged", f"The job has {count_of_lanes(step.lanes)}"),) if step.ended else ()),
        *events_of(old, status),
        *((SetStatus(as_object(status)),) if status != old else ()),
    )


def _next(
    job: ReplicatedStreamJob,
    missing: Sequence[int],
    lanes: Mapping[int, LaneSeen],
    wanted: Mapping[int, Mapping[str, Any]],
) -> Sequence[int]:
    """The lanes to make or to change now: all that are missing or unavailable, and so many others as may be.

    A change that suspends the job is for all lanes at once.
    """
    stale = [lane for lane, one in lanes.items() if lane in wanted and not _is_so(wanted[lane], one)]
    if job.spec.suspend:
        return [*missing, *stale]
    unavailable = [lane for lane, one in lanes.items() if not one.is_available]
    room = job.spec.max_unavailable_lanes - len(set(unavailable) | set(missing))
    others = [lane for lane in sorted(stale) if lane not in unavailable]
    return [*missing, *(lane for lane in stale if lane in unavailable), *others[: max(0, room)]]


def _applied(
    body: Body, job: ReplicatedStreamJob, lanes: Mapping[int, LaneSeen], changed: Sequence[int]
) -> Iterator[Apply | Ask]:
    for lane in changed:
        one = lanes.get(lane)
        thing = next_lane(body, job, lane, one)
        if one is None or not _is_so(thing, one):
            yield Apply(thing, is_new=one is None)
        if one is not None and one.applied == _stamp(thing) and (edited := edits(thing["spec"], one.spec)):
            yield Ask(lane_job_name(job.name, lane), one.uid, {"spec": edited})  # an apply leaves what others added


def _made(missing: Sequence[int], wanted: Mapping[int, Mapping[str, Any]]) -> Sequence[Emit]:
    if not missing:
        return ()
    return (Emit("Normal", "LanesCreated", f"{len(missing)} of {len(wanted)} lanes are created"),)


def _is_so(wanted: Mapping[str, Any], one: LaneSeen) -> bool:
    """Whether the job of a lane was made so, and is still so: what somebody edits keeps our annotation."""
    return one.applied == _stamp(wanted) and not edits(wanted["spec"], one.spec)


def _stamp(wanted: Mapping[str, Any]) -> str:
    return str(wanted["metadata"]["annotations"][APPLIED])
