"""The containers of a job's pods: how each process is started, asked, and kept from doing more than it must."""

from __future__ import annotations

from typing import Any, Final

from tandem.listening import EVERYWHERE
from tandem.manifest import ReplicatedStreamJob
from tandem.manifest.pod_template import JOB_VOLUME
from tandem_operator.observed import Component
from tandem_operator.resources.manifest import (
    FILE,
    FOLDER,
    METRICS_PORT,
    ORDERER_METRICS_PORT,
    lane_options,
    secret_variables,
)
from tandem_operator.resources.names import process_name
from tandem_operator.resources.plain import plain
from tandem_operator.resources.settings import Settings

_MOUNTS: Final = (
    {"name": JOB_VOLUME, "mountPath": FOLDER, "readOnly": True},
    {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108
    {"name": "checkpoint", "mountPath": "/dev/shm"},  # noqa: S108
)
_SMALL: Final = {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}
_ALSO: Final = {
    "requests": {"ephemeral-storage": "64Mi"},
    "limits": {"cpu": "500m", "ephemeral-storage": "512Mi"},
}
"""What is asked for only where the job's replicas do: a quota may want it of every container then."""
_START_S: Final = 600
"""For an image that is being unpacked, a JVM on a busy node, and state that is far away."""


def replica_container(job: ReplicatedStreamJob, settings: Settings, index: int) -> dict[str, Any]:
    """The container `replica`."""
    name = process_name(Component.MEMBER, index)
    container = _container(job, settings, "replica", "tandem.replica", ["--name", name], METRICS_PORT)
    # What is empty, as the CRD's defaults are, is left out: a job that comes back from a revision does not have it.
    resources = replica_resources(job)
    return {**container, "resources": resources} if resources else container


def replica_resources(job: ReplicatedStreamJob) -> dict[str, Any]:
    """What a replica asks for, and may use; {}: what the cluster gives."""
    return {kind: amounts for kind, amounts in plain(job.spec.resources).items() if amounts}


def orderer_container(job: ReplicatedStreamJob, settings: Settings, index: int) -> dict[str, Any]:
    """The container `orderer`, beside a replica."""
    options = ["--name", f"orderer-{index}", "--replica", process_name(Component.MEMBER, index)]
    container = _container(job, settings, "orderer", "tandem.orderer", options, ORDERER_METRICS_PORT)
    return {**container, "resources": small(job)}


def generator_container(job: ReplicatedStreamJob, settings: Settings, index: int) -> dict[str, Any]:
    """The container `generator`."""
    options = ["--name", process_name(Component.GENERATOR, index)]
    container = _container(job, settings, "generator", "tandem.orderer", options, METRICS_PORT)
    return {**container, "resources": small(job)}


def small(job: ReplicatedStreamJob) -> dict[str, dict[str, str]]:
    """What processes without a JVM ask for, and may use.

    Where there is a quota, a pod is refused that does not ask for, or limit, what the quota counts. So what the user asks
    for or limits of cpu, memory and ephemeral storage in `spec.resources` they ask for and limit, too.
    """
    given = {"requests": job.spec.resources.requests, "limits": job.spec.resources.limits}
    return {
        kind: {**amounts, **{name: amount for name, amount in _ALSO[kind].items() if name in given[kind]}}
        for kind, amounts in _SMALL.items()
    }


def _container(
    job: ReplicatedStreamJob, settings: Settings, name: str, module: str, options: list[str], port: int
) -> dict[str, Any]:
    # Everywhere, by IPv4 and IPv6; an image that knows IPv4 only reads it so, too.
    served = ["--metrics-port", str(port), "--metrics-address", EVERYWHERE]
    return {
        "name": name,
        "image": job.spec.image or settings.image,
        **({"imagePullPolicy": job.spec.image_pull_policy} if job.spec.image_pull_policy else {}),
        # Arguments, not a command: the image's entry point reaps the children of the JVM.
        "args": ["python", "-m", module, f"{FOLDER}/{FILE}", *options, *lane_options(job), *served],
        "env": variables(job),
        "ports": [{"name": _port_name(name), "containerPort": port, "protocol": "TCP"}],
        "volumeMounts": mounts(),
        "securityContext": restricted(),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "startupProbe": _probe("/healthz", port, period_s=2, failures=_START_S // 2),
        "livenessProbe": _probe("/healthz", port, period_s=10, failures=3),
        "readinessProbe": _probe("/readyz", port, period_s=2, failures=2),
    }


def _port_name(container: str) -> str:
    return "orderer-metrics" if container == "orderer" else "metrics"


def _probe(path: str, port: int, period_s: int, failures: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": port, "scheme": "HTTP"},
        "periodSeconds": period_s,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def mounts() -> list[dict[str, Any]]:
    """The manifest, and the only places that can be written to: the second is in memory, for the checkpoint."""
    return [dict(mount) for mount in _MOUNTS]


def restricted() -> dict[str, Any]:
    """A container's security context, as the standard `restricted` asks for."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def pod_security(settings: Settings) -> dict[str, Any]:
    """A pod's security context, of the same standard; the group lets the process write to volumes that are mounted.

    Users and groups that the operator was installed without are the platform's to choose.
    """
    ids = {"runAsUser": settings.run_as_user, "runAsGroup": settings.run_as_group, "fsGroup": settings.fs_group}
    return {
        "runAsNonRoot": True,
        **{name: number for name, number in ids.items() if number is not None},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def variables(job: ReplicatedStreamJob) -> list[dict[str, Any]]:
    """The environment: which pod this is, and the Secrets that the manifest names."""
    fields = [("POD_NAME", "metadata.name"), ("POD_IP", "status.podIP"), ("NODE_NAME", "spec.nodeName")]
    return [
        *({"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}} for name, path in fields),
        *(
            {"name": secret.variable, "valueFrom": {"secretKeyRef": {"name": secret.secret, "key": secret.key}}}
            for secret in secret_variables(job)
        ),
    ]
