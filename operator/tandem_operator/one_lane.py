"""A job of one lane that is to have several: planned as before until its state is divided; then it goes. Pure.

It has no jobs of lanes: its pods are its own. So it stops as a suspended job does, and starts again if it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.actions import Action, Apply, Delete, DeletePod, Object
from tandem_operator.lane_change import LaneJob, lanes_step
from tandem_operator.lane_task import LaneTask, unneeded_tasks
from tandem_operator.observed import ObjectSeen, Observed
from tandem_operator.plan import plan
from tandem_operator.plan.status import old_status
from tandem_operator.resources import Settings
from tandem_operator.status import Status
from tandem_operator.trim import Body

_STOPS: Final = ("Stopping", "Dividing")
_WHY: Final = "the job has lanes now"


def may_have_one_lane(job: ReplicatedStreamJob, status: Status) -> bool:
    """Whether a job has, as far as its status says, no lanes yet, or is just being changed from that."""
    if status.lane_change is not None:
        return status.lane_change.before == 1
    lanes = int((status.lanes or "0/1").partition("/")[2])
    return job.spec.lanes > 1 and lanes == 1


def as_one_lane(body: Body, status: Status) -> Body:
    """The job with one lane, which is stopped for a change of that, unless the number was set back in time."""
    change = status.lane_change
    is_back = change is not None and change.stage == "Stopping" and change.to != body["spec"].get("lanes", 1)
    is_stopped = change is not None and change.stage in _STOPS and not is_back
    return {**body, "spec": {**body["spec"], "lanes": 1, **({"suspend": True} if is_stopped else {})}}


def is_between(status: Status) -> bool:
    """Whether the job has stopped for a change of its number of lanes: no pods may start before that has ended."""
    return status.lane_change is not None and status.lane_change.stage not in ("Checking", "Refused")


def is_over(status: Status, is_there: bool) -> bool:
    """Whether a job that may have one lane has not: its logs are those of several, or it never had one.

    `is_there` : pods or objects of it are. What its logs say only a task knows.
    """
    if status.lane_change is not None:
        return status.lane_change.stage == "Beginning"
    return not is_there and not status.lanes


def surplus_objects(job: ReplicatedStreamJob, objects: Iterable[ObjectSeen]) -> tuple[Delete, ...]:
    """What removes the objects that a job with lanes does not need: all but an account that its spec names for them."""
    named = "ServiceAccount", job.spec.service_account
    return tuple(Delete(one.kind, one.name, one.uid) for one in objects if (one.kind, one.name) != named)


def cleared(observed: Observed, _settings: Settings) -> tuple[Action, ...]:
    """What is left of a job of one lane goes; empty: nothing is. Its topics and snapshots stay until the whole goes."""
    if observed.pods or observed.tasks:
        pods = [(pod.name, pod.uid) for pod in observed.pods] + [(task.name, task.uid) for task in observed.tasks]
        return tuple(DeletePod(name, uid, _WHY) for name, uid in pods)
    return surplus_objects(observed.job, observed.objects)


def plan_one_lane(observed: Observed, settings: Settings, body: Body, wanted: int) -> tuple[Action, ...]:
    """What a pass does over a job that has one lane and is to have `wanted`.

    `observed` : of the job `as_one_lane`; `body`: the job as it is.
    """
    known = old_status(observed).lane_change
    task = LaneTask.of(body, known, settings)
    seen = None if task is None else task.seen(observed.tasks)
    is_stopped = known is not None and known.stage in _STOPS
    is_asked = is_stopped and all(pod.deleting for pod in observed.pods)
    one = LaneJob(observed.uid, 1, is_asked, is_stopped and not observed.pods)
    step = lanes_step(wanted, observed.generation, known, {0: one}, seen, observed.now_ms)
    made = () if task is None or seen is not None or step.task is None else _made(task, observed)
    return (
        *made,
        *unneeded_tasks(observed.job.name, observed.tasks, task),
        *plan(replace(observed, objects=_without_manifest_of(task, observed), lane_change=step.change), settings),
    )


def _made(task: LaneTask, observed: Observed) -> Sequence[Action]:
    """The task, and of what it needs, all that the job does not have for its own pods."""
    there = {(thing.kind, thing.name) for thing in observed.objects}
    return [one for one in task.made() if not isinstance(one, Apply) or _named(one.object) not in there]


def _without_manifest_of(task: LaneTask | None, observed: Observed) -> tuple[ObjectSeen, ...]:
    """The job's objects, but not the manifest of the task: none of the job's pods reads that."""
    read = {_named(thing) for thing in (() if task is None else task.objects) if thing["kind"] == "ConfigMap"}
    return tuple(thing for thing in observed.objects if (thing.kind, thing.name) not in read)


def _named(thing: Object) -> tuple[str, str]:
    return thing["kind"], thing["metadata"]["name"]
