"""As many pods as there shall be: missing ones are created, those that ended are removed, those too many leave.

A pod's name follows from the job's uid, its index and its predecessor's name. So a pass that does not see yet what the one
before it created asks for the same pod again, and its API server says AlreadyExists, which is a success.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from tandem.process.ending import BY_ITSELF
from tandem_operator.actions import Action, CreatePod, DeletePod, Emit
from tandem_operator.observed import Component, Observed, PodPhase, PodSeen
from tandem_operator.plan.leaving import leave
from tandem_operator.plan.roster import Member, MemberState, Roster, best, ended
from tandem_operator.plan.version import Version, new_pod
from tandem_operator.resources.names import pod_name, process_name, suffix_after
from tandem_operator.resources.settings import Settings
from tandem_operator.status import Status

_FAILED_AT_ONCE_MS: Final = 10_000
_ENDED_SOON_MS: Final = 60_000
"""Kubernetes does not restart a container that ends with code 0: a pod that always does must not be replaced in a loop."""


def missing(
    observed: Observed,
    settings: Settings,
    version: Version,
    old: Status,
    component: Component,
    wanted: int,
    live: Collection[int],
) -> tuple[Action, ...]:
    """Pods to be created, so that there are `wanted` besides those that are gone. `live`: indices that have a live pod.

    None are while there is nothing to make them from, and none yet in the place of one that failed at once.
    """
    if version.is_blocked:
        return ()
    taken = {
        *live,
        *(pod.index for pod in observed.pods if pod.component is component and failed_at_once(pod, observed)),
    }
    count = max(0, wanted - len(taken))
    indices = list(_free(observed, component, taken, wanted))[:count]
    named = ((index, next_name(observed, old, component, index)) for index in indices)
    return tuple(CreatePod(new_pod(observed, settings, version, component, index, name)) for index, name in named)


def _free(observed: Observed, component: Component, live: Collection[int], wanted: int) -> Iterator[int]:
    """Those whose pod is gone come first: a replica keeps its name. Enough of them for any number that is missing."""
    gone = sorted({pod.index for pod in observed.pods if pod.component is component} - set(live))
    yield from gone
    yield from (index for index in range(wanted + len(live) + len(gone)) if index not in live and index not in gone)


def next_name(observed: Observed, old: Status, component: Component, index: int) -> str:
    """The name of the next pod with that index: no pod that is there or was there last has it.

    The first of an index is named after the generation of the spec, so that an index that comes back has new names too.
    """
    process = process_name(component, index)
    seen = {pod.name for pod in observed.pods}
    last = next((row.pod for row in old.members if row.name == process and row.pod), "")
    there = [pod for pod in observed.pods if (pod.component, pod.index) == (component, index)]
    newest = max(there, key=lambda pod: (pod.created_ms, pod.name), default=None)
    name = last or (newest.name if newest else str(observed.generation))
    for _ in range(len(seen) + 1):
        name = pod_name(observed.job.name, component, index, suffix_after(observed.uid, component, index, name))
        if name not in seen:
            break
    return name


def garbage_collect_pods(observed: Observed, component: Component, is_served: bool) -> tuple[Action, ...]:
    """Pods that ended are removed, and those on lost nodes once the job does without them (`is_served`).

    Not before: if it is the operator's own view that is broken, or the control plane's, they may be all there is. And one
    that failed at once not at once: the next one would too, over and over, if its node rejects or evicts it.
    """
    pods = (pod for pod in observed.pods if pod.component is component and not failed_at_once(pod, observed))
    return tuple(_garbage(pods, is_served))


def failed_at_once(pod: PodSeen, observed: Observed) -> bool:
    """Whether it ended so soon, and so shortly ago, that another one in its place is to wait."""
    age_ms = observed.now_ms - pod.created_ms
    if pod.deleting or pod.node_lost:
        return False
    return age_ms < (_ENDED_SOON_MS if pod.ended_by_itself else _FAILED_AT_ONCE_MS * (pod.phase is PodPhase.FAILED))


def _garbage(pods: Iterator[PodSeen], is_served: bool) -> Iterator[Action]:
    for pod in pods:
        if pod.node_lost:
            if is_served:
                yield DeletePod(pod.name, pod.uid, "its node is lost", grace_s=0)
        elif pod.deleting:
            continue
        elif pod.ended_by_itself:
            words = f"Pod {pod.name}: {pod.replica} ended by itself: {BY_ITSELF}"
            yield Emit("Warning", "PodFailed", words, once=pod.uid)
            yield DeletePod(pod.name, pod.uid, "its process ended by itself")
        elif pod.phase in (PodPhase.FAILED, PodPhase.SUCCEEDED):
            if pod.phase is PodPhase.FAILED and pod.message:
                yield Emit("Warning", "PodFailed", f"Pod {pod.name} failed: {pod.message}"[:1024], once=pod.uid)
            yield DeletePod(pod.name, pod.uid, "it ended")
        elif ended(pod):
            yield DeletePod(pod.name, pod.uid, "its replica was drained")


def surplus(roster: Roster) -> tuple[Action, ...]:
    """Members that are too many leave: those of no use at once, then one after the other: standbys, and last actives.

    Too many is also a second pod of one replica, as when a node comes back after its pod was replaced.
    """
    if roster.is_switching:
        return ()
    second = _seconds(roster)
    first = [member for member in roster.live if member.pod.name not in second]
    useless = sorted((m for m in roster.useless if m in first), key=_dispensable)[: max(0, len(first) - roster.wanted)]
    useless += [member for member in roster.useless if member not in first]
    if useless:
        return tuple(DeletePod(member.pod.name, member.pod.uid, _WHY) for member in useless)
    if not roster.is_clear or len(roster.live) <= roster.wanted:
        return ()
    if second:
        double = min((m for m in roster.back if m.pod.name in second), key=_working, default=None)
        is_missed = len(roster.back) < roster.wanted and not any(member.fails for member in roster.live)
        if double is None or is_missed:
            return ()
        return (DeletePod(double.pod.name, double.pod.uid, _WHY),)  # a switchover would name them both
    return _working_surplus(roster) if len(roster.back) > roster.wanted else ()


_WHY = "it is surplus"


def _working_surplus(roster: Roster) -> tuple[Action, ...]:
    standbys, actives, wanted = roster.standbys, roster.actives, roster.wanted_active
    if len(standbys) > roster.wanted_standby:
        return leave(min(standbys, key=_dispensable), roster, _WHY)
    if len(actives) > max(1, wanted):
        beyond = [member for member in actives if member.slot is not None and member.slot >= wanted]
        return leave(min(beyond or actives, key=_working), roster, _WHY)
    return ()


def _seconds(roster: Roster) -> frozenset[str]:
    """The pods whose replica has a better pod."""
    keep = {member.index: best(m for m in roster.live if m.index == member.index) for member in roster.live}
    return frozenset(member.pod.name for member in roster.live if member is not keep[member.index])


def _working(member: Member) -> tuple[bool, bool, bool, int, int, str]:
    """Of those that work, the least is the first to go."""
    return member.state is MemberState.ACTIVE, member.is_important, *_dispensable(member)


def _dispensable(member: Member) -> tuple[bool, int, int, str]:
    pod = member.pod
    return not member.outdated, -pod.index, -pod.created_ms, pod.name
