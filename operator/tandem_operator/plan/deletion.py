"""A job with `deletionPolicy: Delete` takes its own topics and its snapshots with it.

Such a job, and no other, has a finalizer of ours; of a job with lanes, the whole, and not the jobs of its lanes. When it is
deleted, its pods go first; then a task in its own image deletes what is left of it; then the finalizer goes, and with it the
job. A task that failed stays until it is retried, later and later: how often it was, its annotation says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.actions import Action, Apply, CreatePod, DeletePod, Emit, SetFinalizers, SetStatus
from tandem_operator.observed import Component, Observed, PodPhase, TaskSeen
from tandem_operator.plan.conditions import not_progressing, progressing
from tandem_operator.plan.members import garbage_collect_pods
from tandem_operator.plan.roster import roster_of
from tandem_operator.plan.status import as_object, old_status
from tandem_operator.plan.suspension import suspension
from tandem_operator.plan.version import version_of
from tandem_operator.resources import Settings, tasks, wanted_objects
from tandem_operator.resources.names import CLEANUP
from tandem_operator.status import Condition, Status

FOREGROUND: Final = "foregroundDeletion"
"""Kubernetes' own finalizer of `--cascade=foreground`: all that the job owns goes first, also what the task needs."""
_NEEDED: Final = ("ConfigMap", "ServiceAccount")
_FIRST_MS: Final = 60_000
_MOST_MS: Final = 960_000
_WHY: Final = "the job is deleted"
_NAMED: Final = 20
"""So many pods that end are named."""
_GIVE_UP: Final = "To keep them instead, set spec.deletionPolicy: Retain"


def finalized(job: ReplicatedStreamJob, finalizers: Sequence[str], version: str) -> tuple[Action, ...]:
    """The finalizer of a job that lives: it has it exactly if it is to be cleaned up after. `version`: the job's."""
    wanted = _takes_all(job)
    if wanted and CLEANUP not in finalizers:
        return (SetFinalizers((*finalizers, CLEANUP), version),)
    return () if wanted else _without(CLEANUP, finalizers, version)


def released(observed: Observed) -> tuple[Action, ...]:
    """The finalizer goes, if it is there."""
    return _without(CLEANUP, observed.finalizers, observed.version)


def is_background(observed: Observed) -> bool:
    """Whether a job that is deleted is to be cleaned up after, and can be: Kubernetes deletes nothing that it owns yet."""
    return _takes_all(observed.job) and FOREGROUND not in observed.finalizers


def deletion(observed: Observed, settings: Settings) -> tuple[Action, ...]:
    """What a pass over a job does that is deleted, and has our finalizer."""
    if not _takes_all(observed.job):
        return released(observed)
    old = old_status(observed)
    others = tuple(task for task in observed.tasks if not _cleans_up(observed, task))
    if FOREGROUND in observed.finalizers:
        return _without(FOREGROUND, observed.finalizers, observed.version)
    if observed.pods or others:
        words = pods_end(sorted([*(pod.name for pod in observed.pods), *(task.name for task in others)]))
        condition = progressing(old, "Deleting", words, observed.generation, observed.now_ms)
        return (*_ended(observed, settings, old, others), *said(observed, old, condition, begun(observed)))
    return _cleaned_up(observed, settings, old)


def pods_end(names: Sequence[str]) -> str:
    """What is waited for, in words: `names` of pods, and of jobs of lanes."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    forced = "If a pod's node is lost for good: kubectl delete pod NAME --force"
    return f"Pods end: {', '.join(names[:_NAMED])}{more}. {forced}"


def _ended(observed: Observed, settings: Settings, old: Status, others: tuple[TaskSeen, ...]) -> tuple[Action, ...]:
    """Everybody ends: as when the job is suspended, so that no standby is promoted on the way."""
    roster = roster_of(observed, version_of(observed, settings, old))
    gone = [action for component in Component for action in garbage_collect_pods(observed, component, is_served=True)]
    idle = (DeletePod(task.name, task.uid, _WHY, _grace_s(task, observed.now_ms)) for task in others)
    return (*gone, *suspension(observed, roster, _WHY), *idle)


def _cleaned_up(observed: Observed, settings: Settings, old: Status) -> tuple[Action, ...]:
    tries = sorted(observed.tasks, key=lambda task: task.attempt)
    if not tries:
        return (*_attempt(observed, settings, 1), *_deleting(observed, old, ""))
    newest = tries[-1]
    stale = tuple(DeletePod(task.name, task.uid, "it will be retried", 0) for task in tries[:-1])
    if newest.phase is PodPhase.SUCCEEDED:
        done = Emit("Normal", "CleanedUp", "Its topics and snapshots are deleted", once=newest.uid)
        return (*released(observed), done)
    if not newest.has_failed(observed.now_ms):
        waits_for = newest.message if newest.phase is PodPhase.PENDING else ""
        return (*stale, *_deleting(observed, old, waits_for))
    wait_ms = min(_MOST_MS, _FIRST_MS * 2 ** min(newest.attempt - 1, 16))
    if observed.now_ms - newest.over_ms >= wait_ms:
        return (*stale, *_attempt(observed, settings, newest.attempt + 1))
    message = (
        f"Topics and snapshots are not deleted yet: {newest.name} failed: {newest.words.rstrip('. ')}. It will be retried "
        f"after {wait_ms // 1000} s. {_GIVE_UP}"
    )
    condition = not_progressing(old, "CleanupFailed", message[:4096], observed.generation, observed.now_ms)
    return (
        *stale,
        *said(observed, old, condition, Emit("Warning", "CleanupFailed", condition.message, once=newest.uid)),
    )


def _attempt(observed: Observed, settings: Settings, number: int) -> tuple[Action, ...]:
    """A task, and what it cannot do without: it may be gone by now."""
    objects = wanted_objects(observed.job, observed.uid, settings)
    needed = (Apply(thing) for thing in objects if thing["kind"] in _NEEDED)
    return (*needed, CreatePod(tasks.cleanup(observed.job, observed.uid, settings, number)))


def _deleting(observed: Observed, old: Status, waits_for: str) -> tuple[Action, ...]:
    """A task is under way. `waits_for`: why it does not begin, as Kubernetes says."""
    because = f", but has not started: {waits_for.rstrip('. ')}" if waits_for else ""
    message = f"A task is deleting its topics and snapshots{because[:2048]}. {_GIVE_UP}"
    condition = progressing(old, "Deleting", message, observed.generation, observed.now_ms)
    return said(observed, old, condition, begun(observed))


def said(observed: Observed, old: Status, condition: Condition, event: Emit) -> tuple[Action, ...]:
    """The status of a job that is deleted, and the event, unless the status says it already."""
    spec = observed.job.spec
    lanes = max(spec.lanes, int((old.lanes or "").partition("/")[2] or 1))
    status = old.model_copy(
        update={
            "phase": "Deleting",
            "observed_generation": observed.generation,
            "lanes": f"0/{lanes}" if old.lanes or lanes > 1 else None,
            "degraded_lanes": (),
            "active": f"0/{spec.replicas * lanes}",
            "standby": f"0/{spec.standbys * lanes}",
            "replicas": 0,
            "members": (),
            "conditions": (condition,),
        }
    )
    return () if status == old else (event, SetStatus(as_object(status)))


def begun(observed: Observed) -> Emit:
    """The event of its beginning."""
    return Emit("Normal", "Deleting", "Its pods end; then its topics and snapshots are deleted", once=observed.uid)


def _takes_all(job: ReplicatedStreamJob) -> bool:
    """Whether its topics and snapshots go with it; what a lane has goes with the whole."""
    return job.spec.deletion_policy == "Delete" and job.spec.lane_of is None


def _without(finalizer: str, finalizers: Sequence[str], version: str) -> tuple[Action, ...]:
    if finalizer not in finalizers:
        return ()
    return (SetFinalizers(tuple(one for one in finalizers if one != finalizer), version),)


def _cleans_up(observed: Observed, task: TaskSeen) -> bool:
    return tasks.kind_of(observed.job.name, task.name) == tasks.TOPICS


def _grace_s(task: TaskSeen, now_ms: int) -> int | None:
    return 0 if task.has_ended or task.has_failed(now_ms) else None
