"""Pods of the job's next generation, which run beside its members until that generation has begun.

A candidate is a member's pod under another name that begins with a savepoint, or with no state. It may share a node with a
member of the old generation, so that a cluster with as many nodes as members has room for it, but with no other candidate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.observed import Component
from tandem_operator.resources.names import COMPONENT, GENERATION, ROLE, process_name, selector
from tandem_operator.resources.pods import pod
from tandem_operator.resources.revisions import digest_of
from tandem_operator.resources.settings import Settings

_ACCEPTS: Final = "--accept-changes"


def candidate(
    job: ReplicatedStreamJob, uid: str, settings: Settings, index: int, name: str, savepoint: str
) -> dict[str, Any]:
    """The pod `name` of the candidate `index`, which restores `savepoint`; "": it begins without."""
    like = pod(job, uid, settings, Component.MEMBER, index, name)
    me, member = process_name(Component.CANDIDATE, index), process_name(Component.MEMBER, index)
    renamed = {member: me, f"orderer-{index}": f"orderer-{me}"}
    labels = {key: value for key, value in like["metadata"]["labels"].items() if key != ROLE}
    labels |= {COMPONENT: Component.CANDIDATE.value, GENERATION: digest_of(job, settings)}
    spec = _apart_from_candidates(like["spec"], job.name)
    containers = [_renamed(container, renamed, savepoint) for container in spec["containers"]]
    return {
        **like,
        "metadata": {**like["metadata"], "labels": labels},
        "spec": {**spec, "containers": containers},
    }


def accepting(pod: Mapping[str, Any]) -> dict[str, Any]:
    """A member's pod whose replica may begin another generation of the job than the log has."""
    containers = [
        {**one, "args": [*one["args"], _ACCEPTS]} if one["name"] == "replica" and "args" in one else one
        for one in pod["spec"]["containers"]
    ]
    return {**pod, "spec": {**pod["spec"], "containers": containers}}


def _renamed(container: Mapping[str, Any], names: Mapping[str, str], savepoint: str) -> dict[str, Any]:
    if "args" not in container:
        return dict(container)
    args = [names.get(arg, arg) for arg in container["args"]]
    begins = ["--savepoint", savepoint] if savepoint else [_ACCEPTS]
    return {**container, "args": [*args, *begins] if container["name"] == "replica" else args}


def _apart_from_candidates(value: Any, job: str) -> Any:
    """Whatever counts members counts candidates instead."""
    if value == selector(job, Component.MEMBER.value):
        return selector(job, Component.CANDIDATE.value)
    if isinstance(value, Mapping):
        return {key: _apart_from_candidates(child, job) for key, child in value.items()}
    return [_apart_from_candidates(child, job) for child in value] if isinstance(value, list) else value
