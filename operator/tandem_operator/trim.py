"""What is kept of the objects that the API server tells of: as much as a pass reads, since it is kept of every pod."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

Body = Mapping[str, Any]

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The whole manifest once more, as a text, of what `kubectl apply` made."""
_POD_SPEC: Final = frozenset({"nodeName"})
_POD_STATUS: Final = frozenset(
    {"phase", "podIP", "conditions", "containerStatuses", "initContainerStatuses", "message", "reason"}
)


def of_job(body: Body) -> Body:
    """A job, whole, but for what says twice what it says."""
    return _plain({**body, "metadata": _metadata(body)})


def of_pod(body: Body) -> Body:
    """Who a pod is, where it is, and how it is; not what it was made from, which its annotations name."""
    spec, status = body.get("spec", {}), body.get("status", {})
    return _plain(
        {
            **{name: body[name] for name in ("apiVersion", "kind") if name in body},
            "metadata": _metadata(body),
            "spec": {**{name: value for name, value in spec.items() if name in _POD_SPEC}, **_init_containers(spec)},
            "status": {name: value for name, value in status.items() if name in _POD_STATUS},
        }
    )


def _init_containers(spec: Body) -> Body:
    """Which of them go on running beside the others: that is said in the spec alone."""
    containers = [
        {key: one[key] for key in ("name", "restartPolicy") if key in one} for one in spec.get("initContainers") or ()
    ]
    return {"initContainers": containers} if containers else {}


def _metadata(body: Body) -> Body:
    metadata = {name: value for name, value in body["metadata"].items() if name != "managedFields"}
    annotations = metadata.get("annotations")
    if annotations:
        metadata["annotations"] = {name: value for name, value in annotations.items() if name != _LAST_APPLIED}
    return metadata


def _plain(body: Body) -> Body:
    """A copy that nobody else changes, with names that are one object however many have them."""
    return {sys.intern(name): _copy(part) for name, part in body.items()}


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _plain(value)
    if isinstance(value, list | tuple):
        return [_copy(part) for part in value]
    return value
