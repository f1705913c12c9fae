"""Annotations of a job are requests that are carried out once: promote, drain or fence a replica.

A request is first written into the status, with the pod that it concerns, and only then carried out, again and again until
that pod is as was requested. So an operator that dies in between repeats nothing: the pod that took its place is another
one. Nor does a status that gets lost, as when the job is restored from a backup: what was requested before there is a status
is refused, since it may have been carried out long ago.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tandem_operator.actions import Action, DeletePod, Switch
from tandem_operator.observed import Observed
from tandem_operator.plan.roster import Member, MemberState, Roster
from tandem_operator.plan.savepoints import savepoint_requests
from tandem_operator.plan.times import read_ms, written
from tandem_operator.resources.names import PREFIX
from tandem_operator.resources.settings import Settings
from tandem_operator.status import LONGEST_ANSWER, LONGEST_REQUEST, Outcome, Request, RequestName, Status

PATIENCE_S: Final = 120.0

_BEFORE: Final = (
    "it was made before this status: the job is new, or its status was lost. Retry with a new annotation value if it is "
    "still to be done"
)

_Kind = Literal["promote", "drain", "fence"]
_KINDS: Final[tuple[_Kind, ...]] = ("promote", "drain", "fence")


@dataclass(frozen=True, slots=True)
class Requests:
    """What becomes of the requests in this pass.

    `made` : tasks for which nobody leaves; `actions`: by which members leave; `removed`: pods of tasks that nobody needs
    any more.
    """

    by_name: Mapping[RequestName, Request]
    made: tuple[Action, ...] = ()
    actions: tuple[Action, ...] = ()
    removed: tuple[DeletePod, ...] = ()


def requested(observed: Observed, roster: Roster, settings: Settings, old: Status) -> Requests:
    """Take in new requests, and carry out those that were taken in. Other kinds of requests are left as they are."""
    requests: dict[RequestName, Request] = {
        name: request for name, request in old.requests.items() if name not in _KINDS
    }
    saved = savepoint_requests(observed, settings, old)
    requests |= saved.by_name
    actions: list[Action] = []
    for kind in _KINDS:
        value = observed.annotations.get(PREFIX + kind, "")[:LONGEST_REQUEST]
        if not value:
            continue
        known = old.requests.get(kind)
        if known is None and old.observed_generation is None:
            requests[kind] = Request(value=value, outcome="Refused", message=_BEFORE, time=written(observed.now_ms))
        elif known is None or known.value != value:
            requests[kind] = _taken_in(kind, value, roster, observed.now_ms)
        elif known.outcome == "Pending":
            requests[kind], more = _carried_out(kind, known, roster, observed.now_ms)
            actions += more
        else:
            requests[kind] = known
    return Requests(requests, saved.made, tuple(actions), saved.removed)


def _taken_in(kind: _Kind, value: str, roster: Roster, now_ms: int) -> Request:
    def answer(outcome: Outcome, message: str) -> Request:
        return Request(value=value, outcome=outcome, message=message[:LONGEST_ANSWER], time=written(now_ms))

    replica = value.partition("@")[0]  # what follows makes another request of it
    member = roster.find(replica)
    if member is None:
        there = ", ".join(sorted({m.name for m in roster.live})) or "none"
        return answer("Refused", f"no replica is named {replica[:100]}; the replicas are: {there}")
    if kind == "promote":
        if member.state is MemberState.ACTIVE:
            return answer("Done", f"{replica} is active")
        if member.state is not MemberState.STANDBY:
            return answer("Refused", f"{replica} is not a standby. Retry with a new annotation value once it is")
    if kind == "drain" and not _can_go(member, roster):
        return answer(
            "Refused",
            f"{replica} is the only replica that has caught up. Retry with a new annotation value once another one has",
        )
    return answer("Pending", _concerns(member))


def _carried_out(kind: _Kind, request: Request, roster: Roster, now_ms: int) -> tuple[Request, tuple[Action, ...]]:
    member = next((m for m in roster.live if _concerns(m) == request.message), None)
    if member is None:
        if kind == "promote":
            return _ended(request, "Refused", f"{member_of(request)} ended before it could take over", now_ms), ()
        return _ended(request, "Done", f"{member_of(request)} has left its pod", now_ms), ()
    if kind == "promote" and member.state is MemberState.ACTIVE:
        return _ended(request, "Done", f"{member_of(request)} is active", now_ms), ()
    if now_ms - read_ms(request.time) > PATIENCE_S * 1000:
        return _ended(request, "Refused", f"not done after {PATIENCE_S:.0f} s: see the job's conditions", now_ms), ()
    return request, _act(kind, member, roster)


def _act(kind: _Kind, member: Member, roster: Roster) -> tuple[Action, ...]:
    deleted = DeletePod(member.pod.name, member.pod.uid, f"its {kind} was requested", 0 if kind == "fence" else None)
    if kind == "fence":
        return (deleted,)
    if roster.is_switching:
        return ()
    if kind == "promote":
        leaver = min(roster.actives, key=lambda active: (not active.publishes, active.index), default=None)
        return () if leaver is None else (Switch(leaver.name, member.name, drains=False),)
    if member.state is MemberState.ACTIVE and roster.uses_slots and roster.standbys:
        return (Switch(member.name, "", drains=True),)
    return (deleted,) if _can_go(member, roster) else ()


def _can_go(member: Member, roster: Roster) -> bool:
    """Whether somebody else is at the head, or could be at once."""
    others = [m for m in roster.back if m is not member]
    return bool(others) or member.state is MemberState.STARTING


def member_of(request: Request) -> str:
    """The replica that a request names."""
    return request.value.partition("@")[0]


def _concerns(member: Member) -> str:
    return f"pod {member.pod.name}"


def _ended(request: Request, outcome: Outcome, message: str, now_ms: int) -> Request:
    return request.model_copy(update={"outcome": outcome, "message": message[:LONGEST_ANSWER], "time": written(now_ms)})
