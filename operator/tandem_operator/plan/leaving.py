"""How a member that works leaves, so that the reader notices nothing."""

from __future__ import annotations

from tandem_operator.actions import Action, DeletePod, Switch
from tandem_operator.plan.roster import Member, MemberState, Roster


def leave(member: Member, roster: Roster, why: str) -> tuple[Action, ...]:
    """It hands its slot over, or gives it up if it is surplus; otherwise its pod is deleted, with its time of grace.

    Nothing happens while that cannot be, or not yet: another switchover is under way, or it is the last active of several.
    A pod that is deleted hands over too, but the publisher and the leader shall not end before the successor has caught up.
    """
    deleted = DeletePod(member.pod.name, member.pod.uid, why)
    if member.state is not MemberState.ACTIVE:
        return (deleted,)
    others = [active for active in roster.actives if active is not member]
    if roster.is_switching:
        return ()
    if member.slot is not None:
        if member.slot >= roster.wanted_active and others:
            return (Switch(member.name, None, drains=True),)
        if roster.standbys and (member.is_important or not others or not roster.knows_publisher):
            return (Switch(member.name, _successor(roster), drains=True),)
    return (deleted,) if others or roster.wanted <= 1 else ()


def _successor(roster: Roster) -> str:
    """A standby, rather one that need not be replaced itself."""
    return min(roster.standbys, key=lambda standby: (standby.outdated, standby.index)).name
