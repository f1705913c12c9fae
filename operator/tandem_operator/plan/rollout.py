"""Members that are made from something outdated are replaced, one at a time, each only while all others do their work.

First those that are of no use, then standbys, then actives; who publishes or leads last. A rollout stops by itself where a
new member does not come up or computes other rows: it is gated on that. `stalled` tells that, and why.
"""

from __future__ import annotations

from tandem.process import ExitCode
from tandem_operator.actions import Action, DeletePod
from tandem_operator.observed import PodSeen
from tandem_operator.plan.leaving import leave
from tandem_operator.plan.roster import MANY_RESTARTS, Member, Roster, Standing
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
    if not roster.is_clear or len(roster.back) < roster.wanted:
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
    new = [member for member in roster.live if not member.outdated and not member.is_back]
    told = (failure(member.pod, now_ms, settings.rollout_timeout_s) for member in new)
    return next((text for text in told if text), "")


def failure(pod: PodSeen, now_ms: int, timeout_s: float) -> str:
    """Why a pod that is not of use will not be soon, in words; "" while there is hope."""
    said = f": {pod.message}" if pod.message else ""
    if pod.reported is not None and pod.reported.diverged:
        return f"{pod.replica} computed other rows than those that are published{said}"
    if pod.exit_code == ExitCode.REFUSED:
        return f"{pod.replica} refuses to run{said}"
    if pod.restarts >= MANY_RESTARTS:
        return f"{pod.replica} ended {pod.restarts} times{said}"
    if now_ms - pod.created_ms > timeout_s * 1000:
        return f"{pod.replica} is not at the head after {timeout_s:.0f} s{said}"
    return ""
