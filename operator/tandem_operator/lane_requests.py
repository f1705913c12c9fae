"""Requests to a job with lanes: handed on to all lanes at once, since they take nothing out of service. Pure.

A request is written into the status of the whole first, and handed on only then, to each lane that does not have it: so a
lane that is made later makes no savepoint that was asked for before. It is done when all lanes say so, and refused when one
does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.actions import Ask, Object
from tandem_operator.lane_seen import LaneSeen, lane_job_name
from tandem_operator.plan.savepoints import Kind, asked, refusal
from tandem_operator.plan.times import written
from tandem_operator.resources.names import PREFIX
from tandem_operator.status import LONGEST_ANSWER, LONGEST_REQUEST, LaneChange, Outcome, Request, RequestName, Status
from tandem_operator.trim import Body

_OF_A_REPLICA: Final[tuple[RequestName, ...]] = ("promote", "drain", "fence")
_CHANGES: Final = "the number of lanes changes. Retry with another value when status.laneChange of {job} is gone"


@dataclass(frozen=True, slots=True)
class LaneRequests:
    """What becomes of the requests to the whole in this pass. `asks`: by which they are handed on."""

    by_name: Mapping[RequestName, Request]
    asks: tuple[Ask, ...]


def lane_requests(
    body: Body,
    job: ReplicatedStreamJob,
    lanes: Mapping[int, LaneSeen],
    old: Status,
    change: LaneChange | None,
    now_ms: int,
) -> LaneRequests:
    """Take in new requests, and hand on those that were taken in.

    `body`, `job` : the whole, with as many lanes as it has now; `lanes`: their jobs; `change`: that of their number.
    """
    annotations = body["metadata"].get("annotations", {})
    requests: dict[RequestName, Request] = {}
    asks: list[Ask] = []
    for kind in _OF_A_REPLICA:
        value = annotations.get(PREFIX + kind, "")[:LONGEST_REQUEST]
        if value:
            requests[kind] = _same(old, kind, value) or _request(value, "Refused", _elsewhere(job, kind, value), now_ms)
    for saved, value, name in asked(annotations, job):
        known = _same(old, saved, value)
        if known is None:
            why_not = _CHANGES.format(job=job.name) if _is_stopped(change) else refusal(job)
            known = _request(value, "Refused" if why_not else "Pending", why_not, now_ms)
        elif known.outcome == "Pending":
            known = _summed(known, saved, name, job.spec.lanes, lanes, now_ms)
            asks += _asks(job.name, saved, value, lanes) if known.outcome == "Pending" else []
        requests[saved] = known
    return LaneRequests(requests, tuple(asks))


def _same(old: Status, kind: RequestName, value: str) -> Request | None:
    known = old.requests.get(kind)
    return known if known is not None and known.value == value else None


def _is_stopped(change: LaneChange | None) -> bool:
    return change is not None and change.stage in ("Stopping", "Dividing", "Beginning")


def _elsewhere(job: ReplicatedStreamJob, kind: str, value: str) -> str:
    replica, example = value.partition("@")[0][:100], lane_job_name(job.name, 0)
    return (
        f"{job.name} has lanes, each with replicas of its own. Ask for it at the job of a lane: "
        f"kubectl tandem {kind} {example} {replica}"
    )


def _summed(request: Request, kind: Kind, name: str, count: int, lanes: Mapping[int, LaneSeen], now_ms: int) -> Request:
    """What the lanes say of it together; those that do not know of it say nothing."""
    answers = {lane: _same(one.status, kind, request.value) for lane, one in sorted(lanes.items())}
    refused = [
        f"lane {lane}: {answer.message}" for lane, answer in answers.items() if answer and answer.outcome == "Refused"
    ]
    if refused:
        return _request(request.value, "Refused", "; ".join(refused), now_ms)
    done = {lane for lane, answer in answers.items() if answer and answer.outcome == "Done"}
    if done >= set(range(count)):
        return _request(request.value, "Done", f"savepoint {name} is created in all {count} lanes", now_ms)
    return request


def _asks(job: str, kind: Kind, value: str, lanes: Mapping[int, LaneSeen]) -> list[Ask]:
    """What hands it on to those lanes that have not been asked."""
    found = []
    for lane, one in sorted(lanes.items()):
        is_nonce = kind == "savepointNonce"
        known = str(one.spec.get(kind, "")) if is_nonce else one.annotations.get(PREFIX + kind)
        if known != value and _same(one.status, kind, value) is None:
            annotated: Object = {"metadata": {"annotations": {PREFIX + kind: value}}}
            change = {"spec": {kind: int(value)}} if is_nonce else annotated
            found.append(Ask(lane_job_name(job, lane), one.uid, change))
    return found


def _request(value: str, outcome: Outcome, message: str, now_ms: int) -> Request:
    return Request(value=value, outcome=outcome, message=message[:LONGEST_ANSWER], time=written(now_ms))
