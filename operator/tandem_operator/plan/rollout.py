"""Members that are made from something outdated are replaced, one at a time, each only while all others do their work.

First those that are of no use, then standbys, then actives; who publishes or leads last. A rollout stops by itself where a
new member or the orderer beside it does not come up, or computes other rows: it is gated on that. `stalled` tells that, and
why. An outdated one whose orderer fails stops nothing: the rollout may be what mends it.
"""

from __future__ import annotations

from tandem_operator.actions import Action, DeletePod
from tandem_operator.plan.failures import delay_beside, failure, failure_beside
from tandem_operator.plan.leaving import leave
from tandem_operator.plan.roster import Member, Roster, Standing
from tandem_operator.resources.settings import Settings

_WHY = "it is made from an older version of the job"


def roll(roster: Roster) -> tuple[Action, ...]:
    """The next step of the rollout, if there is one to be taken."""
    outdated = [member for member in roster.live if member.outdated]
    if not outdated or len(roster.live) != roster.wanted or roster.is_switching:
        return ()
    useless = [member for member in roster.useless if member.outdated]
    if useless:
        return tuple(DeletePod(member.pod.name, member.pod.uid, _WHY) for member in useless)
    if not roster.is_clear or len(roster.back) < roster.wanted or any(_is_half_done(m) for m in roster.live):
        return ()
    next_one = min(outdated, key=_order)
    if next_one.standing is Standing.ACTIVE and len(roster.actives) < roster.wanted_active:
        return ()  # a standby is about to take over
    return leave(next_one, roster, _WHY)


def _order(member: Member) -> tuple[bool, bool, int]:
    return member.standing is Standing.ACTIVE, member.is_important, member.index


def stalled(roster: Roster, now_ms: int, settings: Settings) -> str:
    """Why the rollout does not go on: which new member fails, and how; "" while there is none such."""
    if not any(member.outdated for member in roster.live):
        return ""
    told = (_failure(m, now_ms, settings.rollout_timeout_s) for m in roster.live if not m.outdated)
    return next((text for text in told if text), "")


def _is_half_done(member: Member) -> bool:
    """Whether it is new, and not everything beside its replica is ready."""
    return not member.outdated and not all(container.ready for container in member.pod.beside)


def _failure(new: Member, now_ms: int, timeout_s: float) -> str:
    if not new.is_back:
        return failure(new.pod, now_ms, timeout_s)
    return failure_beside(new.pod, now_ms) or delay_beside(new.pod, now_ms, timeout_s)
