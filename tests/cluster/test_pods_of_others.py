"""Pods that are not as they were made: init containers that fail, quotas, sidecars, users that the platform chooses."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any, Final

import pytest

from cluster.conftest import with_snapshots
from cluster.injecting import added, injected
from cluster.jobs import START_S, ClusterJob, running_job, submit
from cluster.kubernetes import Kubectl, Object
from cluster.light import LightJob
from integration.workload import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

QUOTA: Final = {"limits.cpu": "20", "limits.memory": "40Gi", "requests.cpu": "20", "requests.memory": "40Gi"}
LIMITS: Final = {"cpu": "1500m", "memory": "3Gi"}
SECURED: Final = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def quota(**hard: str) -> Object:
    spec = {"hard": {**QUOTA, **hard}}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "all"}, "spec": spec}


def helper(image: str, name: str, script: str, **more: Any) -> Object:
    """A container of somebody else's, within what the namespace asks for."""
    resources = {"limits": {"cpu": "100m", "memory": "64Mi"}, "requests": {"cpu": "10m", "memory": "16Mi"}}
    command = ["sh", "-c", script]
    return {
        "name": name,
        "image": image,
        "command": command,
        "resources": resources,
        "securityContext": SECURED,
        **more,
    }


def condition(kubectl: Kubectl, name: str, type: str = "Progressing") -> tuple[str, str]:
    """Reason and message of a condition of a job."""
    told = kubectl.get("rsj", name).get("status", {}).get("conditions", ())
    return next(((one["reason"], one["message"]) for one in told if one["type"] == type), ("", ""))


def events(kubectl: Kubectl, name: str) -> str:
    found = json.loads(kubectl("get", "events", "-o", "json", "--field-selector", f"involvedObject.name={name}"))
    return "\n".join(one["message"] for one in found["items"])


def test_an_init_container_that_fails_is_named_in_status_and_events(
    kubectl: Kubectl,
    tandem: str,  # noqa: ARG001, it must be installed
    image: str,
) -> None:
    failing = helper(image, "fetch-model", "echo 403 from the model store >&2; exit 3")
    template = {"spec": {"initContainers": [failing]}}
    kubectl.apply(LightJob(kubectl).changed({"spec.podTemplate": template, "spec.image": image}))
    words = "init container fetch-model"

    def is_told() -> bool:
        message = condition(kubectl, "light")[1]
        return words in message and "403 from the model store" in message and words in events(kubectl, "light")

    kubectl.wait(is_told, 180, "status and events name the init container, and its own words")
    assert words in condition(kubectl, "light", "Ready")[1]


@pytest.mark.thorough
def test_an_init_container_that_never_ends_is_named_within_a_minute(
    kubectl: Kubectl,
    tandem: str,  # noqa: ARG001, it must be installed
    image: str,
) -> None:
    template = {"spec": {"initContainers": [helper(image, "wait-for-vault", "sleep 1000")]}}
    kubectl.apply(LightJob(kubectl).changed({"spec.podTemplate": template, "spec.image": image}))
    words = "init container wait-for-vault has run for more than"
    kubectl.wait(lambda: words in condition(kubectl, "light")[1], 60, "status names the init container")
    kubectl.wait(lambda: words in events(kubectl, "light"), 5, "and so does an event")
    assert words in condition(kubectl, "light", "Ready")[1]


def test_under_a_quota_on_limits_a_job_with_limits_gets_its_pods_and_one_without_is_told_why_not(
    kubectl: Kubectl,
    tandem: str,  # noqa: ARG001, it must be installed
) -> None:
    kubectl.apply(quota())
    # A quota whose status is empty yet lets everything pass: kubernetes/kubernetes#73698.
    kubectl.wait(lambda: "hard" in kubectl.get("resourcequota", "all").get("status", {}), 60, "the quota counts")
    kubectl.apply(
        LightJob(kubectl).manifest, LightJob(kubectl, "limited").changed({"spec.resources": {"limits": LIMITS}})
    )

    LightJob(kubectl, "limited").when_manned()
    kubectl.wait(lambda: condition(kubectl, "light")[0] == "ApiRefused", 60, "the quota's refusal is told")
    message = condition(kubectl, "light")[1]
    assert "failed quota: all: must specify limits.cpu for: orderer,replica; limits.memory for: replica" in message


@pytest.mark.thorough
def test_a_limit_that_a_limit_range_gives_and_a_replica_exceeds_is_named_and_the_jobs_own_limit_mends_it(
    kubectl: Kubectl,
    servers: Cluster,
    tandem: str,  # noqa: ARG001, it must be installed
) -> None:
    """The job asks for no resources at all; its processes follow no zone, seed or language of their pods either."""
    limits = [{"type": "Container", "default": {"memory": "320Mi"}, "defaultRequest": {"memory": "128Mi"}}]
    kubectl.apply({"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "all"}, "spec": {"limits": limits}})
    others = {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7", "LC_ALL": "C", "HTTP_PROXY": "http://nobody.invalid:3128"}
    env = [{"name": name, "value": value} for name, value in others.items()]
    template = {"spec": {"containers": [{"name": "replica", "env": env}]}}
    name = f"limits-{uuid.uuid4().hex[:6]}"
    started_s = submit(kubectl, servers, name, resources={}, podTemplate=template)
    job = ClusterJob(kubectl, servers, name, started_s)
    try:
        told = "this container may use 320Mi of memory, by spec.resources.limits.memory or a LimitRange"
        job.wait(lambda: told in job.condition("Ready")[2], START_S, "the limit is named")
        job.patch({"resources": {"limits": {"memory": "2Gi"}, "requests": {"cpu": "100m"}}})
        job.when_ready()
        job.patch({"podTemplate": None})
        job.wait(lambda: job.condition("Progressing")[1] == "RollingOut", 60, "replicas are replaced")
        job.wait(lambda: job.condition("Progressing")[1] == "Complete", START_S, "and work beside those that have it")
        job.check_exactly_once()
        assert job.condition("Diverged")[0] == "False"
    finally:
        job.close()


@pytest.mark.thorough
def test_a_job_runs_beside_sidecars_under_a_quota_and_as_a_user_that_the_image_does_not_know(
    kubectl: Kubectl,
    servers: Cluster,
    tandem: str,  # noqa: ARG001, it must be installed
    image: str,
    tmp_path: Path,
) -> None:
    """And its savepoint is done when the task is, though its sidecar runs on."""
    kubectl.apply(quota())
    spec = with_snapshots(kubectl)
    (replica,) = spec["podTemplate"]["spec"]["containers"]
    asleep = "trap exit TERM; while :; do sleep 1; done"
    spec["podTemplate"]["spec"] |= {
        "securityContext": {"runAsUser": 1_000_670_000, "runAsGroup": 0, "fsGroup": None},
        "initContainers": [helper(image, "proxy", asleep, restartPolicy="Always"), helper(image, "once", "true")],
        "containers": [replica],
    }
    injecting = injected(
        kubectl, os.environ["KUBE_LAB_HOST"], tmp_path, added("containers/0", helper(image, "mesh", asleep))
    )
    name = f"others-{uuid.uuid4().hex[:6]}"
    resources = {"limits": LIMITS, "requests": {"cpu": "100m", "memory": "1Gi"}}
    with injecting, running_job(kubectl, servers, name, resources=resources, **spec) as job:
        (pod, _) = job.pods()
        assert [one["name"] for one in pod["spec"]["containers"]] == ["mesh", "replica", "orderer"]
        who = kubectl(
            "exec", pod["metadata"]["name"], "--", "/opt/tandem/bin/entrypoint", "id"
        )  # no -c: it is the replica
        assert who.startswith("uid=1000670000(tandem-1000670000) gid=0(root)")
        job.patch({"savepointNonce": 1})
        job.wait(lambda: "savepointNonce" in job.status.get("requests", {}), 60, "a savepoint is requested")
        job.wait(lambda: job.status["requests"]["savepointNonce"]["outcome"] == "Done", 120, "and made")
        assert job.condition("Progressing")[1] == "Complete"
