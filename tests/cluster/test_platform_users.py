"""A platform that chooses users and adds containers to pods, as OpenShift with a service mesh: all kinds of pods run."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from typing import Any, Final

import pytest

from cluster.conftest import own_namespace, with_snapshots
from cluster.executing import executors, with_executors
from cluster.injecting import added, injected
from cluster.installed import Release, no_operator
from cluster.jobs import START_S, ClusterJob, running_job
from cluster.kubernetes import Kubectl, Object, holds
from cluster.test_pods_of_others import LIMITS, helper, quota
from integration.workload import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.thorough]

USER: Final = 1_000_680_000
ASLEEP: Final = "trap exit TERM; while :; do sleep 1; done"
NOBODY: Final = [f"--set=securityContext.{name}=null" for name in ("runAsUser", "runAsGroup", "fsGroup")]
RESOURCES: Final = {"limits": LIMITS, "requests": {"cpu": "100m", "memory": "1Gi"}}


@pytest.fixture(scope="module")
def platform(image: str, tandem: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """A namespace with an operator of its own, a quota on limits, and the platform's hand in each pod."""
    folder = tmp_path_factory.mktemp("webhook")
    proxy = helper(image, "proxy", ASLEEP, restartPolicy="Always")
    with no_operator(tandem), own_namespace() as kubectl:
        kubectl.apply(quota())
        steps = (
            added("securityContext/runAsUser", USER),
            added("securityContext/fsGroup", USER),
            added("containers/0", helper(image, "mesh", ASLEEP)),
            added("initContainers", [proxy]),
        )
        with injected(kubectl, os.environ["KUBE_LAB_HOST"], folder, *steps):
            release = Release("tandem-own", kubectl.namespace)
            limits = ("--set=operator.resources.limits.cpu=500m", "--set=executors.enabled=true")
            release.install(image, "--skip-crds", "--set=rbac.namespaced=true", *NOBODY, *limits)
            yield kubectl


def job_of(platform: Kubectl, servers: Cluster, **spec: Any) -> Any:
    return running_job(platform, servers, f"theirs-{uuid.uuid4().hex[:6]}", resources=RESOURCES, **spec)


def check(pods: list[Object], count: int, container: str) -> None:
    """They have a platform's containers beside ours, run as its user, and ours is ready."""
    assert len(pods) == count
    for pod in pods:
        assert pod["spec"]["securityContext"]["runAsUser"] == USER
        assert pod["spec"]["securityContext"].get("runAsGroup") is None
        names = [one["name"] for one in pod["spec"]["containers"]]
        assert names[0] == "mesh"
        assert container in names
        assert holds(pod, "Ready"), pod["status"]


def ready(pods: list[Object]) -> int:
    return sum(holds(pod, "Ready") for pod in pods)


def of(job: ClusterJob, component: str) -> list[Object]:
    return job.kubectl.list("pods", f"tandem.dev/job={job.name},app.kubernetes.io/component={component}")


def test_members_generators_candidates_and_tasks_run(platform: Kubectl, servers: Cluster) -> None:
    """A savepoint is made by a task, which is over though the containers beside it run on, and an upgrade by candidates."""
    ordering = {"mode": "heartbeat", "minEpochInterval": "1s"}
    with job_of(platform, servers, ordering=ordering, **with_snapshots(platform)) as job:
        job.when_known_to_work()
        check(of(job, "member"), 2, "replica")
        check(of(job, "generator"), 2, "generator")
        job.patch({"savepointNonce": 1})
        job.wait(lambda: "savepointNonce" in job.status.get("requests", {}), 60, "a savepoint is requested")
        job.wait(lambda: job.status["requests"]["savepointNonce"]["outcome"] == "Done", 120, "and made")
        job.patch({"maxRecordBytes": 900_000})
        job.wait(lambda: ready(of(job, "candidate")) == 2, 2 * START_S, "the candidates are at the head")
        check(of(job, "candidate"), 2, "replica")
        job.wait(lambda: not of(job, "candidate"), START_S, "the next generation has its members")
        job.when_staffed(2, 0)
        job.delete()


def test_an_orderer_beside_a_replica_and_executors_run(platform: Kubectl, servers: Cluster) -> None:
    with job_of(platform, servers, **with_executors(platform)) as job:
        check(job.pods(), 2, "orderer")
        check(executors(job, "replica-0"), 1, "executor")
