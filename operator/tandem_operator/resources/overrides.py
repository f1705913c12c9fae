"""The user's `spec.podTemplate` over a pod of ours, merged as Kubernetes merges patches of pods.

Maps are merged deeply, and null removes a key. Lists of named things (containers by name, volumes, env and image pull
secrets by name, mounts by path, ports by number, host aliases by address) are merged by that; tolerations are added to
ours, but for those of the same taint, which they replace; all other lists are replaced.

Ours win only where a job would otherwise break its promise, or the operator lose the pod: the labels and annotations that it
finds pods by, `runAsNonRoot`, `restartPolicy`, and the rule that no two members share a node, which is added to any other
affinity. Name and owner cannot be given at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tandem.manifest.pod_template import KEYED_LISTS

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_ONE_SOURCE: Final = ("volumes", "env")
_OURS: Final = ("tandem.dev/", "app.kubernetes.io/")
_OUR_CONTAINERS: Final = ("replica", "orderer", "generator", "executor", "task")
"""One template is for all pods of a job: what it says of one of these is nothing to a pod that has no such container."""


def overridden(pod: Mapping[str, Any], template: Mapping[str, Any]) -> dict[str, Any]:
    """`pod` with the labels, annotations and spec of `template`."""
    given = template.get("metadata") or {}
    meta = dict(pod["metadata"])
    for key in ("labels", "annotations"):
        theirs = {name: value for name, value in (given.get(key) or {}).items() if not name.startswith(_OURS)}
        if theirs or key in meta:
            meta[key] = {**theirs, **meta.get(key, {})}
    spec = merge(pod["spec"], _meant(template.get("spec") or {}, pod["spec"]))
    return {**pod, "metadata": meta, "spec": _safe(spec, pod["spec"])}


def container_of(template: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """What `template` says of the container of that name; {} if nothing."""
    given = (template.get("spec") or {}).get("containers") or ()
    return next((container for container in given if container["name"] == name), {})


def _meant(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Mapping[str, Any]:
    tolerations, containers = theirs.get("tolerations"), theirs.get("containers")
    if isinstance(tolerations, list) and all(isinstance(one, Mapping) for one in tolerations):
        theirs = {**theirs, "tolerations": [*_not_given(ours.get("tolerations") or (), tolerations), *tolerations]}
    if not isinstance(containers, list):
        return theirs
    others = set(_OUR_CONTAINERS) - {container["name"] for container in ours["containers"]}
    return {**theirs, "containers": [one for one in containers if one.get("name") not in others]}


def _not_given(ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of our tolerations that none of theirs is meant to replace: one without an effect is for all effects."""
    given = {(one.get("key"), effect) for one in theirs for effect in _effects(one)}
    return [one for one in ours if (one["key"], one["effect"]) not in given]


def _effects(toleration: Mapping[str, Any]) -> Sequence[str]:
    effect = toleration.get("effect")
    return (effect,) if effect else ("NoSchedule", "PreferNoSchedule", "NoExecute")


def merge(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """A strategic merge: what `theirs` does not name stays."""
    merged = dict(ours)
    for key, value in theirs.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(key, merged.get(key), value)
    return merged


def _merged(key: str, ours: Any, theirs: Any) -> Any:
    if isinstance(theirs, Mapping):
        return merge(ours if isinstance(ours, Mapping) and _same_kind(key, ours, theirs) else {}, theirs)
    by = KEYED_LISTS.get(key)
    if by is not None and isinstance(theirs, list) and isinstance(ours, list):
        return _by_key(key, ours, theirs)
    return theirs


def _same_kind(key: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    """A probe by another means replaces ours: two at once are refused."""
    means = {"httpGet", "exec", "tcpSocket", "grpc"}
    return not (key.endswith("Probe") and means & theirs.keys() and not means & theirs.keys() & ours.keys())


def _by_key(key: str, ours: Sequence[Any], theirs: Sequence[Any]) -> list[Any]:
    by = KEYED_LISTS[key]
    given = {thing.get(by): thing for thing in theirs}
    known = {thing.get(by) for thing in ours}
    merged = [_thing(key, thing, given[thing[by]]) if thing.get(by) in given else dict(thing) for thing in ours]
    return [*merged, *(merge({}, thing) for thing in theirs if thing.get(by) not in known)]


def _thing(key: str, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """A volume or variable of another source is another one: the sources of both would not be accepted."""
    return dict(theirs) if key in _ONE_SOURCE and not theirs.keys() <= ours.keys() else merge(ours, theirs)


def _safe(spec: dict[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    spec["restartPolicy"] = ours["restartPolicy"]
    spec["securityContext"] = {**(spec.get("securityContext") or {}), "runAsNonRoot": True}
    for kind in ("containers", "initContainers"):
        if spec.get(kind):  # so that the last words of one that fails can be shown
            spec[kind] = [{"terminationMessagePolicy": "FallbackToLogsOnError", **one} for one in spec[kind]]
    for container in (*spec["containers"], *(spec.get("initContainers") or ())):
        if "runAsNonRoot" in (container.get("securityContext") or {}):
            container["securityContext"] = {**container["securityContext"], "runAsNonRoot": True}
    required = _required_apart(ours)
    if required and any(term not in _required_apart(spec) for term in required):
        affinity = dict(spec.get("affinity") or {})
        apart = dict(affinity.get("podAntiAffinity") or {})
        others = [term for term in _required_apart(spec) if term not in required]
        apart[_REQUIRED] = [*required, *others]
        spec["affinity"] = {**affinity, "podAntiAffinity": apart}
    return spec


def _required_apart(spec: Mapping[str, Any]) -> list[Any]:
    apart = (spec.get("affinity") or {}).get("podAntiAffinity") or {}
    return list(apart.get(_REQUIRED) or [])
