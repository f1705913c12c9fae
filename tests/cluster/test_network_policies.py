"""Where the network enforces NetworkPolicies: who is admitted works, and nobody else gets in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from cluster.conftest import own_namespace
from cluster.enforcing import enforced_policies
from cluster.executing import EXECUTOR_S, executors, granted_executors, job_with_executors, owner
from cluster.installed import OPERATOR, Release
from cluster.jobs import ClusterJob
from cluster.kubernetes import Kubectl, Object
from cluster.lab import Lab
from integration.workload import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.thorough, pytest.mark.timeout(1800)]

REPLICA, ORDERER, OPERATORS, DRIVER = 9400, 9401, 9090, 7078
"""Ports: metrics and reports of a replica, an orderer and the operator; and where executors report to their driver."""
ADMITTED: Final = "tandem.dev/scrapes"
MASKED_S = 5.0
CONNECT: Final = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 3).close()
    print("connected")
except OSError as error:
    print(error)
"""


@dataclass(frozen=True)
class Visitor:
    """A pod that tries to connect to others."""

    kubectl: Kubectl
    name: str

    def reaches(self, pod: Object, port: int) -> bool:
        """Whether it gets a connection."""
        ip = pod["status"]["podIP"]
        return self.kubectl("exec", self.name, "--", "python", "-c", CONNECT, ip, str(port)).strip() == "connected"

    def when(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until the network knows of a change."""
        self.kubectl.wait(condition, 60, f"{self.name}: {what}")


def visitor(name: str, image: str, node: str) -> Object:
    container = {
        "name": "visitor",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sleep", "3600"],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    spec = {"nodeName": node, "containers": [container], "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module")
def enforced(tandem: str, lab: Lab) -> Iterator[str]:
    """Nodes that drop what no policy allows; the operator's namespace."""
    with granted_executors(tandem), enforced_policies(lab):
        yield tandem


@pytest.fixture(scope="module")
def job(servers: Cluster, enforced: str) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be so
    """Two replicas with an executor each: drivers, executors, orderers, operator and kubelets talk to one another."""
    with job_with_executors(servers, "walled") as job:
        yield job


@pytest.fixture(scope="module", params=["n1", "n2", "n3"])
def stranger(request: pytest.FixtureRequest, image: str) -> Iterator[Visitor]:
    """A pod in a namespace of its own, on each of the nodes: packets to a pod on the same node take another way."""
    with own_namespace() as kubectl:
        kubectl.apply(visitor("stranger", image, request.param))
        kubectl("wait", "pod/stranger", "--for=condition=Ready", "--timeout=90s", timeout_s=100)
        yield Visitor(kubectl, "stranger")


def operators_pod(tandem: str) -> Object:
    (pod,) = Kubectl(tandem).list("pods", OPERATOR)
    return pod


def test_a_job_with_executors_works_and_is_looked_after(job: ClusterJob) -> None:
    """It came up behind the policies; now a replica is lost, and its successor's executors find it."""
    replica, lost = job.publishing()
    with job.output_goes_on(MASKED_S):
        job.kubectl("delete", "pod", lost["metadata"]["name"], "--grace-period=0", "--force", timeout_s=90)
        job.flows_on(400)
    job.when_ready()
    successor = job.pod_of(replica)["metadata"]["name"]
    assert successor != lost["metadata"]["name"]
    job.wait(lambda: [owner(pod) for pod in executors(job, replica)] == [successor], EXECUTOR_S, "its executor")
    job.check_exactly_once()


def test_a_stranger_gets_in_nowhere(job: ClusterJob, stranger: Visitor) -> None:
    for pod in job.pods():
        for port in (REPLICA, ORDERER, DRIVER):
            assert not stranger.reaches(pod, port), f"{stranger.name} reaches {port} of {pod['metadata']['name']}"


def test_a_scraper_reads_metrics_and_nothing_else(job: ClusterJob, stranger: Visitor, enforced: str) -> None:
    """The same pod, and the same ports as those that a stranger does not reach: what differs is its label."""
    pods, operator = job.pods(), operators_pod(enforced)
    assert not stranger.reaches(operator, OPERATORS)
    stranger.kubectl("label", "pod", stranger.name, f"{ADMITTED}=true")
    for pod in pods:
        stranger.when(lambda pod=pod: stranger.reaches(pod, REPLICA), "a replica's metrics")
        assert stranger.reaches(pod, ORDERER)
        assert not stranger.reaches(pod, DRIVER)
    stranger.when(lambda: stranger.reaches(operator, OPERATORS), "the operator's metrics")

    stranger.kubectl("label", "pod", stranger.name, f"{ADMITTED}-")
    stranger.when(lambda: not any(stranger.reaches(pod, REPLICA) for pod in pods), "out again")


def test_whoever_is_in_a_jobs_namespace_is_a_stranger_too(job: ClusterJob, image: str) -> None:
    job.kubectl.apply(visitor("neighbour", image, "n1"))
    job.kubectl("wait", "pod/neighbour", "--for=condition=Ready", "--timeout=90s", timeout_s=100)
    neighbour = Visitor(job.kubectl, "neighbour")
    for pod in job.pods():
        assert not neighbour.reaches(pod, DRIVER)
    # What the job's own pods are known by opens the same port: it is there, and the policy alone was in the way.
    job.kubectl("label", "pod", neighbour.name, f"tandem.dev/job={job.name}")
    for pod in job.pods():
        neighbour.when(lambda pod=pod: neighbour.reaches(pod, DRIVER), "the driver's port")
    job.kubectl("delete", "pod", neighbour.name)


def test_the_chart_passes_its_own_test(enforced: str) -> None:
    Release("tandem", enforced).test()
