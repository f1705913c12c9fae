"""The pods of a job: members, each a replica and in most modes an orderer beside it; and heartbeat generators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tandem.manifest import ReplicatedStreamJob
from tandem.manifest.pod_template import JOB_VOLUME
from tandem_operator.observed import Component
from tandem_operator.resources import executors
from tandem_operator.resources.accounts import account_name
from tandem_operator.resources.containers import (
    generator_container,
    orderer_container,
    pod_security,
    replica_container,
)
from tandem_operator.resources.manifest import behaviour, config_map_name, config_of
from tandem_operator.resources.names import (
    COMPONENT,
    CONFIG,
    DEFAULT_CONTAINER,
    EXECUTOR,
    LANES_OF,
    MANIFEST,
    ROLE,
    TEMPLATE,
    hash_of,
    metadata,
    selector,
)
from tandem_operator.resources.overrides import overridden
from tandem_operator.resources.plain import plain
from tandem_operator.resources.settings import Settings
from tandem_operator.resources.tolerations import lost_node

GRACE_S: Final = 45
"""Longer than a replica waits for its successor when it is asked to stop."""
_ZONE: Final = "topology.kubernetes.io/zone"


def pod(
    job: ReplicatedStreamJob, uid: str, settings: Settings, component: Component, index: int, name: str
) -> dict[str, Any]:
    """A pod that is complete but for the version of the manifest in it: see `dated`."""
    meta = metadata(job, uid, name, component.value, index)
    meta["annotations"] = {TEMPLATE: template(job, settings, component)}
    if component is Component.MEMBER:
        meta["labels"][ROLE] = "starting"
    spec = _spec(job, settings, component, index)
    ours = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    merged = overridden(ours, plain(job.spec.pod_template))
    merged["metadata"]["annotations"].setdefault(DEFAULT_CONTAINER, spec["containers"][0]["name"])
    return dated(merged, config_map_name(job), config_of(job))


def dated(thing: Mapping[str, Any], manifest: str, config: str, made_from: str = "") -> dict[str, Any]:
    """The pod with the version of the manifest that is in the ConfigMap `manifest`, of the configuration `config`.

    `made_from` : the template that it is said to be made from, instead of the job's.
    """
    meta = dict(thing["metadata"])
    meta["annotations"] = {**meta["annotations"], MANIFEST: manifest, CONFIG: config}
    if made_from:
        meta["annotations"][TEMPLATE] = made_from
    others = [volume for volume in thing["spec"]["volumes"] if volume["name"] != JOB_VOLUME]
    ours = next(volume for volume in thing["spec"]["volumes"] if volume["name"] == JOB_VOLUME)
    first, *rest = ours["projected"]["sources"]
    first = {"configMap": {**first["configMap"], "name": manifest}}
    volume = {**ours, "projected": {**ours["projected"], "sources": [first, *rest]}}
    return {**thing, "metadata": meta, "spec": {**thing["spec"], "volumes": [volume, *others]}}


def template(job: ReplicatedStreamJob, settings: Settings, component: Component) -> str:
    """The hash of all that a pod is made from, but for its index. A pod with another one is to be replaced."""
    spec = _spec(job, settings, component, 0)
    return hash_of([spec, plain(job.spec.pod_template), behaviour(job), job.spec.restart_nonce])


def _spec(job: ReplicatedStreamJob, settings: Settings, component: Component, index: int) -> dict[str, Any]:
    with_executors = bool(job.spec.executors.instances)
    spec = {
        "restartPolicy": "OnFailure",
        "serviceAccountName": account_name(job),
        "automountServiceAccountToken": with_executors and component is Component.MEMBER,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE_S,
        "securityContext": pod_security(settings),
        "affinity": _apart(job, component, index),
        "topologySpreadConstraints": [_spread(job, component), *_lanes_spread(job, component)],
        "tolerations": lost_node(),
        "containers": _containers(job, settings, component, index),
        "volumes": _volumes(job),
    }
    secrets = plain(job.spec.image_pull_secrets)
    return {**spec, "imagePullSecrets": secrets} if secrets else spec


def _containers(job: ReplicatedStreamJob, settings: Settings, component: Component, index: int) -> list[dict[str, Any]]:
    if component is Component.GENERATOR:
        return [generator_container(job, settings, index)]
    replica = executors.with_driver(job, settings, replica_container(job, settings, index), index)
    beside = [] if job.spec.ordering.mode == "heartbeat" else [orderer_container(job, settings, index)]
    return [replica, *beside]


def _volumes(job: ReplicatedStreamJob) -> list[dict[str, Any]]:
    sources: list[dict[str, Any]] = [{"configMap": {"name": ""}}]
    if job.spec.job.config_map is not None:
        sources.append({"configMap": {"name": job.spec.job.config_map}})
    return [
        {"name": JOB_VOLUME, "projected": {"sources": sources}},
        {"name": "tmp", "emptyDir": {}},
        {"name": "checkpoint", "emptyDir": {"medium": "Memory"}},
    ]


def _apart(job: ReplicatedStreamJob, component: Component, index: int) -> dict[str, Any]:
    """A node that is lost takes one member with it, and no executor of another one; generators are apart if they can."""
    own = {"labelSelector": {"matchLabels": selector(job.name, component.value)}, "topologyKey": executors.NODE}
    if component is Component.GENERATOR:
        return {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": own}]
            }
        }
    terms = [own]
    if job.spec.executors.instances:
        terms.append(executors.apart_from_others(job, EXECUTOR, index))
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _lanes_spread(job: ReplicatedStreamJob, component: Component) -> list[dict[str, Any]]:
    """The pods of all lanes lie evenly over the nodes."""
    if job.spec.lane_of is None:
        return []
    evenly = {"matchLabels": {LANES_OF: job.spec.lane_of.job, COMPONENT: component.value}}
    shape = {"maxSkew": 1, "topologyKey": executors.NODE, "whenUnsatisfiable": "ScheduleAnyway"}
    return [{**shape, "labelSelector": evenly}]


def _spread(job: ReplicatedStreamJob, component: Component) -> dict[str, Any]:
    return {
        "maxSkew": 1,
        "topologyKey": _ZONE,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": selector(job.name, component.value)},
    }
