"""From what was observed to what is to be done: pure, and the same for the same observation.

A pass over a job that is as its spec asks returns nothing. A pass that is repeated before its own deeds are seen repeats
them, and each is safe to repeat: pods have names that follow from their predecessors', and are deleted by uid.
"""

from __future__ import annotations

from dataclasses import replace

from tandem_operator.actions import Action, DeletePod, SetStatus, Switch, TryPod
from tandem_operator.lane_task import unneeded_tasks
from tandem_operator.observed import Component, Observed
from tandem_operator.plan import objects
from tandem_operator.plan.deletion import deletion, finalized
from tandem_operator.plan.events import events_of
from tandem_operator.plan.generations import gone_candidates, step
from tandem_operator.plan.generators import (
    is_without_a_beat,
    live_generators,
    needed_generators,
    roll_generators,
    surplus_generators,
)
from tandem_operator.plan.members import garbage_collect_pods, missing, surplus
from tandem_operator.plan.requests import Requests, requested
from tandem_operator.plan.revisions import recorded
from tandem_operator.plan.rollout import is_on_trial, roll
from tandem_operator.plan.roster import Roster, roster_of
from tandem_operator.plan.status import as_object, new_status, old_status
from tandem_operator.plan.suspension import suspension
from tandem_operator.plan.switches import ended_switches, patiently
from tandem_operator.plan.version import Version, new_pod, version_of
from tandem_operator.resources import Settings, wanted_objects
from tandem_operator.status import Status

__all__ = ["plan"]


def plan(observed: Observed, settings: Settings) -> tuple[Action, ...]:
    """What a pass does, in this order: what pods need comes before them, the status last, so that it never runs ahead."""
    if observed.deleting:
        return deletion(observed, settings)
    old = old_status(observed)
    version = version_of(observed, settings, old)
    spec_job, observed = observed.job, replace(observed, job=version.job)
    roster = roster_of(observed, version)
    requests = requested(observed, roster, settings, old)
    next_one = step(observed, spec_job, settings, version, roster, old)
    status = new_status(observed, roster, version, settings, old, requests.by_name, next_one)
    other = spec_job if version.falls_back else version.fallback
    wanted = wanted_objects(version.job, observed.uid, settings, other)
    return (
        *finalized(observed.job, observed.finalizers, observed.version),
        *objects.applied(observed, wanted),
        *patiently(observed, _members(observed, settings, version, roster, old, requests)),
        *_generators(observed, settings, version, roster, old),
        *gone_candidates(observed, version, roster),
        *next_one.actions,
        *ended_switches(observed),
        *(unneeded_tasks(observed.job.name, observed.tasks) if observed.lane_change is None else ()),
        *(one for one in requests.removed if one.name != next_one.keeps),
        *objects.labelled(roster),
        *recorded(observed, settings, version, roster),
        *objects.unneeded(observed, wanted, version.job, spec_job),
        *events_of(old, status),
        *((SetStatus(as_object(status)),) if status != old else ()),
    )


def _members(
    observed: Observed, settings: Settings, version: Version, roster: Roster, old: Status, requests: Requests
) -> tuple[Action, ...]:
    """One reason at a time for a member that works to leave: a request goes before a surplus, and that before a rollout."""
    suspended = observed.job.spec.suspend
    gone = garbage_collect_pods(observed, Component.MEMBER, suspended or len(roster.back) >= roster.wanted)
    if suspended:
        return (*gone, *suspension(observed, roster))
    indices = {member.index for member in roster.live}
    proved = replace(version, job=version.fallback or version.job) if is_on_trial(roster, version) else version
    created = missing(observed, settings, proved, old, Component.MEMBER, roster.wanted, indices)
    rolled = roll(roster, version, is_without_a_beat(observed))
    left = requests.actions or surplus(roster) or _tried(observed, settings, version, rolled)
    tasks_of = version.fallback if version.falls_back else None
    return (
        *gone,
        *created,
        *requests.made,
        *(replace(one, job=tasks_of) if isinstance(one, Switch) else one for one in left),
    )


def _tried(observed: Observed, settings: Settings, version: Version, left: tuple[Action, ...]) -> tuple[Action, ...]:
    """Nobody leaves for a pod that would be refused."""
    if not any(isinstance(one, DeletePod | Switch) for one in patiently(observed, left)):
        return left
    tried = new_pod(observed, settings, version, Component.MEMBER, 0, f"{observed.job.name}-tried")
    return (TryPod(tried), *left)


def _generators(
    observed: Observed, settings: Settings, version: Version, roster: Roster, old: Status
) -> tuple[Action, ...]:
    live = live_generators(observed)
    is_proved = not any(member.outdated for member in roster.live)
    are_members_new = is_proved and not version.is_held and len(roster.back) >= roster.wanted
    wanted, made_from = needed_generators(observed, version, are_members_new)
    beating = sum(pod.ready for pod in live)
    gone = garbage_collect_pods(observed, Component.GENERATOR, beating >= wanted)
    if observed.job.spec.suspend:
        return gone
    created = missing(observed, settings, made_from, old, Component.GENERATOR, wanted, {pod.index for pod in live})
    extra = surplus_generators(observed, are_members_new)
    return (*gone, *created, *(extra or roll_generators(observed, version, is_proved)))
