"""A suspended job has no pods; everything else that it has stays."""

from __future__ import annotations

from tandem_operator.actions import Action, DeletePod
from tandem_operator.observed import Component, Observed
from tandem_operator.plan.generators import live_generators
from tandem_operator.plan.roster import MemberState, Roster

SUSPENDED = "the job is suspended"


def suspension(observed: Observed, roster: Roster, why: str = SUSPENDED) -> tuple[Action, ...]:
    """Who has to end next: standbys and candidates before actives, so that none is promoted on the way; generators last."""
    actives = [member.pod for member in roster.live if member.state in (MemberState.ACTIVE, MemberState.UNKNOWN)]
    others = [member.pod for member in roster.live if member.pod not in actives]
    others += [pod for pod in observed.pods if pod.component is Component.CANDIDATE and not pod.is_gone]
    stage = others or actives or list(live_generators(observed))
    return tuple(DeletePod(pod.name, pod.uid, why) for pod in stage)
