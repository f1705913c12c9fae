"""Spark on Kubernetes in client mode: a replica is a driver that makes executor pods of its own.

The runtime has to do two things in a pod whose environment has `TANDEM_SPARK_CONF`:
1. lay those settings (a JSON object, `spark.master` among them) over its own when it builds the session;
2. write `TANDEM_EXECUTOR_POD` (a pod as JSON) to a file in its scratch folder, and set
   `spark.kubernetes.executor.podTemplateFile` to that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.resources.containers import mounts, pod_security, restricted, variables
from tandem_operator.resources.names import EXECUTOR, INDEX, MANAGED_BY, labels, selector
from tandem_operator.resources.plain import plain
from tandem_operator.resources.settings import Settings

NODE: Final = "kubernetes.io/hostname"
SPARK_CONF: Final = "TANDEM_SPARK_CONF"
EXECUTOR_POD: Final = "TANDEM_EXECUTOR_POD"

_API: Final = "k8s://https://kubernetes.default.svc"
_DRIVER_PORT: Final = 7078
_BLOCK_MANAGER_PORT: Final = 7079


def with_driver(
    job: ReplicatedStreamJob, settings: Settings, container: Mapping[str, Any], index: int
) -> dict[str, Any]:
    """The container of a replica, which finds in its environment how to get executors, if the job has any."""
    if not job.spec.executors.instances:
        return dict(container)
    # Kubernetes fills in $(POD_NAME) and $(POD_IP): both come before in the list.
    told = {SPARK_CONF: spark_conf(job, settings), EXECUTOR_POD: executor_pod(job, index)}
    env = [{"name": name, "value": json.dumps(value, sort_keys=True)} for name, value in told.items()]
    return {**container, "env": [*container["env"], *env]}


def spark_conf(job: ReplicatedStreamJob, settings: Settings) -> dict[str, str]:
    """Spark's settings, by which its executors belong to the pod of their driver, and go with it."""
    spec = job.spec
    conf = {
        "spark.master": _API,
        "spark.driver.host": "$(POD_IP)",
        "spark.driver.bindAddress": "0.0.0.0",  # noqa: S104
        "spark.driver.port": str(_DRIVER_PORT),
        "spark.driver.blockManager.port": str(_BLOCK_MANAGER_PORT),
        "spark.executor.instances": str(spec.executors.instances),
        "spark.executor.cores": str(spec.executors.cores),
        "spark.executor.memory": spec.executors.memory,
        "spark.kubernetes.namespace": job.metadata.namespace,
        "spark.kubernetes.driver.pod.name": "$(POD_NAME)",
        "spark.kubernetes.container.image": spec.image or settings.image,
        "spark.kubernetes.executor.podNamePrefix": "$(POD_NAME)",
        "spark.kubernetes.executor.podTemplateContainerName": "executor",
        # So that the driver needs rights on pods only.
        "spark.kubernetes.executor.disableConfigMap": "true",
        "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
        "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
    }
    if spec.image_pull_policy is not None:
        conf["spark.kubernetes.container.image.pullPolicy"] = spec.image_pull_policy
    return conf


def executor_pod(job: ReplicatedStreamJob, index: int) -> dict[str, Any]:
    """What Spark makes an executor's pod from: never on the node of another replica, or of its executors."""
    terms = [apart_from_others(job, component, index) for component in ("member", EXECUTOR)]
    spec: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(),
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        "containers": [
            {
                "name": "executor",
                "env": [variable for variable in variables(job) if "secretKeyRef" in variable["valueFrom"]],
                "volumeMounts": [mount for mount in mounts() if mount["name"] != "job"],
                "securityContext": restricted(),
            }
        ],
        "volumes": [
            {"name": "tmp", "emptyDir": {}},
            {"name": "checkpoint", "emptyDir": {"medium": "Memory"}},
        ],
    }
    secrets = plain(job.spec.image_pull_secrets)
    spec |= {"imagePullSecrets": secrets} if secrets else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {**labels(job.name, EXECUTOR, index), MANAGED_BY: "spark"}},
        "spec": spec,
    }


def apart_from_others(job: ReplicatedStreamJob, component: str, index: int) -> dict[str, Any]:
    """A term of anti-affinity: not on a node with pods of `component` that belong to another replica than `index`."""
    return {
        "labelSelector": {
            "matchLabels": selector(job.name, component),
            "matchExpressions": [{"key": INDEX, "operator": "NotIn", "values": [str(index)]}],
        },
        "topologyKey": NODE,
    }
