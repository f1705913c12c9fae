"""Objects other than pods: applied if they differ from what was applied last, deleted when nobody needs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.actions import Action, Apply, Delete, LabelPod, Object
from tandem_operator.observed import ObjectSeen, Observed
from tandem_operator.plan.roster import MemberState, Roster
from tandem_operator.resources.accounts import account_name
from tandem_operator.resources.names import APPLIED, ROLE, is_manifest
from tandem_operator.resources.revisions import KIND as REVISION

_NAMES: Final = ("apiVersion", "kind", "metadata")


def applied(observed: Observed, wanted: Sequence[Object]) -> tuple[Action, ...]:
    """Objects of `wanted` that are missing, or that are not as they should be."""
    seen = {(thing.kind, thing.name): thing for thing in observed.objects}
    return tuple(
        Apply(thing) for thing in wanted if not _is_so(thing, seen.get((thing["kind"], thing["metadata"]["name"])))
    )


def _is_so(wanted: Object, seen: ObjectSeen | None) -> bool:
    """Whether it was applied, and is still as it was applied: what somebody edits keeps our annotation."""
    if seen is None or seen.applied != wanted["metadata"]["annotations"][APPLIED]:
        return False
    return seen.whole is None or all(holds(wanted[name], seen.whole.get(name)) for name in wanted if name not in _NAMES)


def holds(wanted: Any, there: Any) -> bool:
    """Whether all that is wanted is there; the API server adds defaults, never items of lists."""
    if isinstance(wanted, Mapping):
        return isinstance(there, Mapping) and all(holds(value, there.get(name)) for name, value in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(there, list | tuple) and len(wanted) == len(there) and all(map(holds, wanted, there))
    return bool(wanted == there)


def unneeded(observed: Observed, wanted: Sequence[Object], *jobs: ReplicatedStreamJob) -> tuple[Action, ...]:
    """Objects that are not in `wanted`: among them older manifests, when no pod that is still there reads them.

    `jobs` : all versions of the job that matter. The account that one of them names stays, though the operator may have
    made it, as one that is called like the job. Revisions of the job are no objects of its present one: `revisions` sees
    to them.
    """
    names = {(thing["kind"], thing["metadata"]["name"]) for thing in wanted}
    names |= {("ServiceAccount", account_name(job)) for job in jobs}
    return tuple(
        Delete(thing.kind, thing.name, thing.uid)
        for thing in observed.objects
        if (thing.kind, thing.name) not in names and not _is_kept(observed, thing)
    )


def _is_kept(observed: Observed, thing: ObjectSeen) -> bool:
    return thing.kind == REVISION or (thing.kind == "ConfigMap" and _is_read(observed, thing.name))


def _is_read(observed: Observed, config_map: str) -> bool:
    """While no pod is there, all manifests stay: which of them the next ones are to read is not known then."""
    return not is_manifest(observed.job.name, config_map) or (
        not observed.pods or any(pod.manifest == config_map for pod in observed.pods)
    )


def labelled(roster: Roster) -> tuple[Action, ...]:
    """Pods whose label does not show what they do."""
    return tuple(_labels(roster))


def _labels(roster: Roster) -> Iterator[Action]:
    for member in roster.live:
        if member.state is not MemberState.UNKNOWN and member.pod.role != member.state.value:
            yield LabelPod(member.pod.name, member.pod.uid, {ROLE: member.state.value})
