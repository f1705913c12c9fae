"""Spark on Kubernetes in client mode: a replica is a driver that makes executor pods of its own.

The runtime finds in its environment how (`tandem.engine.executors`): settings of Spark, and what to make a pod from. The
pods belong to that of their driver, and go with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from tandem.engine.executors import CONF, POD
from tandem.manifest import ReplicatedStreamJob
from tandem_operator.resources.accounts import account_name
from tandem_operator.resources.containers import pod_security, restricted
from tandem_operator.resources.manifest import FOLDER
from tandem_operator.resources.names import EXECUTOR, INDEX, MANAGED_BY, labels, selector
from tandem_operator.resources.overrides import container_of, overridden
from tandem_operator.resources.plain import plain
from tandem_operator.resources.settings import Settings
from tandem_operator.resources.tolerations import lost_node

NODE: Final = "kubernetes.io/hostname"

_API: Final = "k8s://https://kubernetes.default.svc:443"
_DRIVER_PORT: Final = 7078
_BLOCK_MANAGER_PORT: Final = 7079
_SCRATCH: Final = "spark-local-dir-1"
"""Spark keeps what it shuffles in volumes that are called so."""
_ALIKE: Final = ("env", "envFrom", "volumeMounts")
"""What `podTemplate` says of these for the container `replica` holds for executors, too: the same code runs in both."""


def with_driver(
    job: ReplicatedStreamJob, settings: Settings, container: Mapping[str, Any], index: int
) -> dict[str, Any]:
    """The container of a replica, which finds in its environment how to get executors, if the job has any."""
    if not job.spec.executors.instances:
        return dict(container)
    # Kubernetes fills in $(POD_NAME) and $(POD_IP), which come before in the list. In the executors' pod, which may have
    # such words of its own, each $ is doubled, so that it leaves them alone.
    conf = json.dumps(spark_conf(job, settings), sort_keys=True)
    pod = json.dumps(executor_pod(job, settings, index), sort_keys=True).replace("$", "$$")
    return {**container, "env": [*container["env"], {"name": CONF, "value": conf}, {"name": POD, "value": pod}]}


def spark_conf(job: ReplicatedStreamJob, settings: Settings) -> dict[str, str]:
    """Spark's settings, by which its executors belong to the pod of their driver, and go with it."""
    spec = job.spec
    conf = {
        "spark.master": _API,
        "spark.driver.host": "$(POD_IP)",
        "spark.driver.bindAddress": "$(POD_IP)",  # it is where executors look for their driver, too
        "spark.driver.port": str(_DRIVER_PORT),
        "spark.driver.blockManager.port": str(_BLOCK_MANAGER_PORT),
        "spark.executor.instances": str(spec.executors.instances),
        "spark.executor.cores": str(spec.executors.cores),
        "spark.executor.memory": spec.executors.memory,
        "spark.kubernetes.namespace": job.metadata.namespace,
        "spark.kubernetes.driver.pod.name": "$(POD_NAME)",
        "spark.kubernetes.container.image": spec.image or settings.image,
        "spark.kubernetes.executor.podNamePrefix": "$(POD_NAME)",
        "spark.kubernetes.executor.podTemplateContainerName": EXECUTOR,
        # A lost executor is replaced without haste otherwise.
        "spark.kubernetes.executor.eventProcessingInterval": "200ms",
        "spark.kubernetes.allocation.batch.delay": "200ms",
        # So that the driver needs rights on pods only.
        "spark.kubernetes.executor.disableConfigMap": "true",
        "spark.kubernetes.driver.service.deleteOnTermination": "false",
        "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
        "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
    }
    own = container_of(plain(spec.pod_template), EXECUTOR).get("resources") or {}
    if "cpu" in spec.resources.limits and "cpu" not in (own.get("limits") or {}):
        conf["spark.kubernetes.executor.limit.cores"] = str(spec.executors.cores)  # Spark itself limits memory only
    if spec.image_pull_policy is not None:
        conf["spark.kubernetes.container.image.pullPolicy"] = spec.image_pull_policy
    return conf


def executor_pod(job: ReplicatedStreamJob, settings: Settings, index: int) -> dict[str, Any]:
    """What Spark makes an executor's pod from: never on the node of another replica, or of its executors."""
    template = plain(job.spec.pod_template)
    containers = (template.get("spec") or {}).get("containers") or []
    replica: dict[str, Any] = next((one for one in containers if one.get("name") == "replica"), {})
    alike: dict[str, Any] = {"name": EXECUTOR, **{key: replica[key] for key in _ALIKE if key in replica}}
    return overridden(overridden(_ours(job, settings, index), {"spec": {"containers": [alike]}}), template)


def _ours(job: ReplicatedStreamJob, settings: Settings, index: int) -> dict[str, Any]:
    terms = [apart_from_others(job, component, index) for component in ("member", EXECUTOR)]
    code = job.spec.job.config_map
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "serviceAccountName": account_name(job),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(settings),
        "affinity": {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms},
            "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [_near(job, index)]},
        },
        "tolerations": lost_node(),
        "containers": [
            {
                "name": EXECUTOR,
                # Spark puts there what a job brings along in spark.jars and the like.
                "workingDir": "/tmp",  # noqa: S108
                "env": [],
                "volumeMounts": [
                    {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108
                    {"name": _SCRATCH, "mountPath": "/dev/shm"},  # noqa: S108
                    *([{"name": "job", "mountPath": FOLDER, "readOnly": True}] if code else []),
                ],
                "securityContext": restricted(),
                "terminationMessagePolicy": "FallbackToLogsOnError",
            }
        ],
        "volumes": [
            {"name": "tmp", "emptyDir": {}},
            {"name": _SCRATCH, "emptyDir": {"medium": "Memory"}},
            *([{"name": "job", "projected": {"sources": [{"configMap": {"name": code}}]}}] if code else []),
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


def _near(job: ReplicatedStreamJob, index: int) -> dict[str, Any]:
    """Rather on a node that the replica has already: one that it takes in addition is lost to all other replicas."""
    labels = {**selector(job.name), INDEX: str(index)}
    return {"weight": 100, "podAffinityTerm": {"labelSelector": {"matchLabels": labels}, "topologyKey": NODE}}


def apart_from_others(job: ReplicatedStreamJob, component: str, index: int) -> dict[str, Any]:
    """A term of anti-affinity: not on a node with pods of `component` that belong to another replica than `index`."""
    return {
        "labelSelector": {
            "matchLabels": selector(job.name, component),
            "matchExpressions": [{"key": INDEX, "operator": "NotIn", "values": [str(index)]}],
        },
        "topologyKey": NODE,
    }
