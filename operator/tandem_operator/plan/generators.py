"""Heartbeat generators: all alike, without state. One is enough for the job to go on.

A job that gets or loses them by another `ordering.mode` has two kinds of members for a while: those without an orderer
need a generator. So the old generators stay until all members are new, and no old member leaves before a generator beats.
"""

from __future__ import annotations

from dataclasses import replace

from tandem_operator.actions import Action, DeletePod
from tandem_operator.observed import Component, Observed, PodSeen
from tandem_operator.plan.version import Version


def wanted_generators(observed: Observed) -> int:
    """How many there shall be."""
    ordering = observed.job.spec.ordering
    return 0 if observed.job.spec.suspend or ordering.mode != "heartbeat" else ordering.generators


def needed_generators(observed: Observed, version: Version, are_members_new: bool) -> tuple[int, Version]:
    """How many are made again if they are lost, and what from.

    A job that shall have none any more has members that need them until all are new: those of the last revision that worked.
    """
    wanted, last = wanted_generators(observed), version.fallback
    if wanted or are_members_new or observed.job.spec.suspend or last is None:
        return wanted, version
    if last.spec.ordering.mode != "heartbeat":
        return 0, version
    return last.spec.ordering.generators, replace(version, job=last)


def is_without_a_beat(observed: Observed) -> bool:
    """Whether members need a generator, and none beats: another member without an orderer beside it would not help."""
    return wanted_generators(observed) > 0 and not any(pod.ready for pod in live_generators(observed))


def live_generators(observed: Observed) -> tuple[PodSeen, ...]:
    """Those that are not gone."""
    return tuple(pod for pod in observed.pods if pod.component is Component.GENERATOR and not pod.is_gone)


def surplus_generators(observed: Observed, are_members_new: bool) -> tuple[Action, ...]:
    """Those too many: second ones of a name, then ones that do not work, then those with the highest index.

    `are_members_new` : all members are back, made from what the job is now. Until then a job that shall have no generators
    any more keeps those that it has.
    """
    live = live_generators(observed)
    if not wanted_generators(observed) and not are_members_new:
        return ()
    extra = max(0, len(live) - wanted_generators(observed))
    first = {pod.index: pod.name for pod in sorted(live, key=lambda pod: (not pod.ready, pod.created_ms), reverse=True)}
    chosen = sorted(live, key=lambda pod: (first[pod.index] == pod.name, pod.ready, -pod.index, pod.name))[:extra]
    return tuple(DeletePod(pod.name, pod.uid, "it is surplus") for pod in chosen)


def roll_generators(observed: Observed, version: Version, is_proved: bool) -> tuple[Action, ...]:
    """The next outdated one, while all others beat. One that beats waits until the members show that the new one runs."""
    live = live_generators(observed)
    outdated = [pod for pod in live if version.is_outdated(pod) and (is_proved or not pod.ready)]
    if not outdated or len(live) != wanted_generators(observed):
        return ()
    idle = [pod for pod in live if not pod.ready]
    if any(pod not in outdated for pod in idle):
        return ()
    one = min(outdated, key=lambda pod: (pod.ready, pod.index))
    return (DeletePod(one.name, one.uid, "it is made from an older version of the job"),)
