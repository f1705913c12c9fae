"""A suspended job has no pods; everything else that it has stays."""

from __future__ import annotations

from typing import Final

from tandem_operator.actions import Action, DeletePod
from tandem_operator.observed import Component, Observed, PodPhase
from tandem_operator.plan.generators import live_generators
from tandem_operator.plan.roster import MemberState, Roster

SUSPENDED = "the job is suspended"
_NAMED: Final = 5
"""So many pods that still end are named."""


def still_there(observed: Observed) -> tuple[str, ...]:
    """The pods in which processes may still run: a suspended job is not suspended before they have ended."""
    ended = (PodPhase.SUCCEEDED, PodPhase.FAILED)
    return tuple(pod.name for pod in observed.pods if pod.phase not in ended)


def suspending(observed: Observed) -> tuple[str, str]:
    """How the suspension of a job gets on: a reason and words."""
    left = still_there(observed)
    if not left:
        return "Suspended", "The job is suspended"
    more = f", and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
    return "Suspending", f"The job is suspended when its pods have ended: {', '.join(left[:_NAMED])}{more}"


def suspension(observed: Observed, roster: Roster, why: str = SUSPENDED) -> tuple[Action, ...]:
    """Who has to end next: standbys and candidates before actives, so that none is promoted on the way; generators last."""
    actives = [member.pod for member in roster.live if member.state in (MemberState.ACTIVE, MemberState.UNKNOWN)]
    others = [member.pod for member in roster.live if member.pod not in actives]
    others += [pod for pod in observed.pods if pod.component is Component.CANDIDATE and not pod.is_gone]
    stage = others or actives or list(live_generators(observed))
    return tuple(DeletePod(pod.name, pod.uid, why) for pod in stage)
