"""Savepoints that are requested for, by the annotation `tandem.dev/savepoint: NAME` or by another `spec.savepointNonce`.

A task in the job's own image creates them; what became of it is in its pod, until that is removed. So it is removed only
when the outcome is in the status.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.actions import Action, CreatePod, DeletePod
from tandem_operator.observed import Observed
from tandem_operator.plan.times import written
from tandem_operator.resources import tasks
from tandem_operator.resources.names import PREFIX
from tandem_operator.resources.settings import Settings
from tandem_operator.status import LONGEST_ANSWER, LONGEST_REQUEST, Outcome, Request, RequestName, Status

Kind = Literal["savepoint", "savepointNonce"]

_SUSPENDED: Final = (
    "the job is suspended, and has no pods. Set spec.suspend: false, wait until it is Ready, and retry with "
    "another value"
)


@dataclass(frozen=True, slots=True)
class SavepointRequests:
    """What becomes of these requests in this pass. `made`: tasks to be created; `removed`: those that nobody needs."""

    by_name: Mapping[RequestName, Request]
    made: tuple[Action, ...]
    removed: tuple[DeletePod, ...]


def savepoint_requests(observed: Observed, settings: Settings, old: Status) -> SavepointRequests:
    """New requests are taken in first, and carried out in a later pass."""
    requests: dict[RequestName, Request] = {}
    actions: list[Action] = []
    needed: set[str] = set()
    for kind, value, name in asked(observed.annotations, observed.job):
        known = old.requests.get(kind)
        if known is None or known.value != value:
            requests[kind] = _taken_in(observed, value)
        elif known.outcome == "Pending":
            requests[kind], more = _carried_out(observed, settings, known, name)
            actions += more
        else:
            requests[kind] = known
            continue
        needed.add(_task(observed, settings, name, value)["metadata"]["name"])
    return SavepointRequests(requests, tuple(actions), tuple(_removed(observed, needed)))


def asked(annotations: Mapping[str, str], job: ReplicatedStreamJob) -> Iterator[tuple[Kind, str, str]]:
    """What is asked for of a job with these annotations: kind, value, and the savepoint's name."""
    value = annotations.get(f"{PREFIX}savepoint", "")[:LONGEST_REQUEST]
    if value:
        yield "savepoint", value, value.partition("@")[0]
    nonce = job.spec.savepoint_nonce
    if nonce is not None:
        yield "savepointNonce", str(nonce), f"nonce-{nonce}"


def refusal(job: ReplicatedStreamJob) -> str:
    """Why a job can have no savepoint; "": it can."""
    if job.spec.snapshots is None:
        return "the job takes no snapshots: add spec.snapshots"
    return _SUSPENDED if job.spec.suspend else ""


def _taken_in(observed: Observed, value: str) -> Request:
    why_not = refusal(observed.job)
    return _request(observed, value, "Refused" if why_not else "Pending", why_not)


def _carried_out(
    observed: Observed, settings: Settings, request: Request, name: str
) -> tuple[Request, tuple[Action, ...]]:
    task = _task(observed, settings, name, request.value)
    there = next((seen for seen in observed.tasks if seen.name == task["metadata"]["name"]), None)
    if there is None and observed.job.spec.suspend:
        return _request(observed, request.value, "Refused", _SUSPENDED), ()
    if there is None:
        return request, (CreatePod(task),)
    if there.has_failed(observed.now_ms):
        return _request(observed, request.value, "Refused", there.words), ()
    if not there.has_ended:
        return request, ()
    return _request(observed, request.value, "Done", f"savepoint {name} is created"), ()


def _task(observed: Observed, settings: Settings, name: str, value: str) -> dict[str, Any]:
    return tasks.savepoint(observed.job, observed.uid, settings, name, value)


def _removed(observed: Observed, needed: Collection[str]) -> Iterator[DeletePod]:
    """Tasks that ended, or never will, and whose outcome is written or wanted by nobody any more."""
    for task in observed.tasks:
        is_ours = tasks.kind_of(observed.job.name, task.name) == tasks.SAVEPOINT
        if is_ours and (task.has_ended or task.has_failed(observed.now_ms)) and task.name not in needed:
            yield DeletePod(task.name, task.uid, "it has ended", 0)


def _request(observed: Observed, value: str, outcome: Outcome, message: str) -> Request:
    return Request(value=value, outcome=outcome, message=message[:LONGEST_ANSWER], time=written(observed.now_ms))
