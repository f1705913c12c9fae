"""Members that are made from something outdated are replaced, one at a time, each only while all others do their work.

First those that are of no use, then standbys, then actives; who publishes or leads last. A rollout stops by itself where a
new member or the orderer beside it does not come up, or computes other rows: it is gated on that. `stalled` tells that, and
why; and `given_up`, that it will not go on, so that the job is rolled back if that can be. An outdated one whose orderer
fails stops nothing: the rollout may be what fixes it.
"""

from __future__ import annotations

from tandem_operator.actions import Action, DeletePod
from tandem_operator.plan.failures import delay_beside, failure, failure_beside, has_diverged, has_hope
from tandem_operator.plan.leaving import leave
from tandem_operator.plan.roster import Member, MemberState, Roster
from tandem_operator.plan.version import Version

_WHY = "it is made from an older version of the job"


def is_on_trial(roster: Roster, version: Version) -> bool:
    """Whether a new member is not at the head yet, of a revision that nobody knows to work, while another is known to.

    One that has a slot has stood by before: it has only just taken over.
    """
    is_open = version.fallback is not None and not version.is_rejected and not version.is_held
    return is_open and any(not one.outdated and not one.is_back and one.slot is None for one in roster.live)


def roll(roster: Roster, version: Version, is_without_a_beat: bool = False) -> tuple[Action, ...]:
    """The next step of the rollout, if there is one to be taken.

    `is_without_a_beat` : new members would wait for a generator, and none beats. No member that works leaves then.
    """
    outdated = [member for member in roster.live if member.outdated]
    if not outdated or len(roster.live) != roster.wanted or roster.is_switching:
        return ()
    if version.is_mended and not version.accepts:
        return ()  # it is to be in the status first
    useless = [member for member in roster.useless if member.outdated]
    if useless and not is_on_trial(roster, version):
        return tuple(DeletePod(member.pod.name, member.pod.uid, _WHY) for member in useless)
    if not roster.is_clear or len(roster.back) < roster.wanted or any(_is_half_done(m) for m in roster.live):
        return ()
    if is_without_a_beat:
        return ()
    next_one = min(outdated, key=_order)
    if next_one.state is MemberState.ACTIVE and len(roster.actives) < roster.wanted_active:
        return ()  # a standby is about to take over
    return leave(next_one, roster, _WHY)


def _order(member: Member) -> tuple[bool, bool, int]:
    return member.state is MemberState.ACTIVE, member.is_important, member.index


def stalled(roster: Roster, now_ms: int, deadline_s: float, is_patient: bool) -> str:
    """Why the rollout does not go on: which new member fails, and how; "" while there is none such.

    `is_patient` : not of one that refuses to run, but may not do so for long.
    """
    if not any(member.outdated for member in roster.live):
        return ""
    new = [member for member in roster.live if not member.outdated]
    failures = (
        _failure(m, now_ms, deadline_s) for m in new if not (is_patient and has_hope(m.pod, now_ms, deadline_s))
    )
    return next((text for text in failures if text), "")


def given_up(roster: Roster, now_ms: int, deadline_s: float) -> str:
    """Which new member fails, and is not worth waiting for, and how; "" while there is none such.

    While all that are there of the old ones fail too, it may be no fault of the new one.
    """
    old = [member for member in roster.live if member.outdated]
    if old and not any(member.is_back for member in old):
        return ""
    new = [member for member in roster.live if not member.outdated and member.state is not MemberState.UNKNOWN]
    failures = (_failure(m, now_ms, deadline_s) for m in new if not has_hope(m.pod, now_ms, deadline_s))
    return next((text for text in failures if text), "")


def _is_half_done(member: Member) -> bool:
    """Whether it is new, and not everything beside its replica is ready."""
    return not member.outdated and not all(one.is_settled for one in member.pod.beside)


def _failure(new: Member, now_ms: int, timeout_s: float) -> str:
    if not new.is_back or has_diverged(new.pod):
        return failure(new.pod, now_ms, timeout_s)
    return failure_beside(new.pod, now_ms) or delay_beside(new.pod, now_ms, timeout_s)
