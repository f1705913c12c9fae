"""Jobs whose replicas compute on executors in pods of their own, and the operator's right to let them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from cluster.conftest import own_namespace
from cluster.installed import CHART
from cluster.jobs import ClusterJob, running_job
from cluster.kubernetes import Kubectl, Object, run
from integration.workload import Cluster

EXECUTOR_S: Final = 120.0
"""A JVM on a busy node."""
SMALL: Final[dict[str, Any]] = {
    "executors": {"instances": 1, "cores": 1, "memory": "512m"},
    "spark": {
        "parallelism": 1,
        "conf": {"spark.kubernetes.executor.request.cores": "100m", "spark.executor.memoryOverhead": "640m"},
    },
}
_VOLUME: Final = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "state"},
    "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
}
_WITH_VOLUME: Final = {
    "containers": [{"name": "replica", "volumeMounts": [{"name": "state", "mountPath": "/state"}]}],
    "volumes": [{"name": "state", "persistentVolumeClaim": {"claimName": "state"}}],
}


@contextmanager
def granted_executors(tandem: str) -> Iterator[None]:
    """While the block runs, the operator has the right to let jobs have executors."""
    _install(tandem, executors=True)
    try:
        yield
    finally:
        _install(tandem, executors=False)


@contextmanager
def job_with_executors(cluster: Cluster, prefix: str) -> Iterator[ClusterJob]:
    """Two replicas with an executor each, their state on a volume that all share, in a namespace of their own."""
    with own_namespace() as kubectl:
        name, spec = f"{prefix}-{uuid.uuid4().hex[:6]}", with_executors(kubectl)
        with running_job(kubectl, cluster, name, **spec) as job:
            yield job


def with_executors(kubectl: Kubectl) -> Object:
    """What a job's spec needs for an executor each, with the state on a volume of the namespace, which is made."""
    kubectl.apply(_VOLUME)
    return {**SMALL, "checkpoint": {"directory": "/state/checkpoint"}, "podTemplate": {"spec": _WITH_VOLUME}}


def executors(job: ClusterJob, replica: str) -> list[Object]:
    """The executors of a replica that run and are not being deleted."""
    index = replica.rpartition("-")[2]
    labels = f"tandem.dev/job={job.name},app.kubernetes.io/component=executor,tandem.dev/index={index}"
    pods = job.kubectl.list("pods", labels)
    return [pod for pod in pods if pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]]


def owner(pod: Object) -> str:
    """The driver that an executor belongs to."""
    (reference,) = pod["metadata"]["ownerReferences"]
    name: str = reference["name"]
    return name


def _install(tandem: str, executors: bool) -> None:
    allowed = str(executors).lower()
    upgrade = ("helm", "upgrade", "tandem", str(CHART), "--namespace", tandem, "--reuse-values")
    run([*upgrade, "--set", f"executors.enabled={allowed}", "--wait", "--timeout", "120s"], timeout_s=150)
