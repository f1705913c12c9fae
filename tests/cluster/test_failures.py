"""What befalls a job on a cluster, while a reader reads on: nothing lost, repeated or reordered, and no long gap."""

from __future__ import annotations

import uuid

import pytest

from cluster.jobs import ClusterJob, manifests, running_job
from cluster.kubernetes import Kubectl, Lab
from integration.workload import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

MASKED_S = 5.0
"""A take-over takes a fraction of a second, some seconds on a busy machine; Kubernetes notices a dead node after ten."""


@pytest.fixture
def job(kubectl: Kubectl, servers: Cluster, tandem: str) -> object:  # noqa: ARG001, it must be installed
    name = f"job-{uuid.uuid4().hex[:6]}"
    with running_job(kubectl, servers, name) as running:
        yield running


def test_a_job_outlives_its_pods_and_nodes(job: ClusterJob, lab: Lab) -> None:
    members = [pod["spec"]["nodeName"] for pod in job.pods()]
    assert len(set(members)) == 2, f"both members are on one node: {members}"
    assert job.is_true("OrderingAvailable")

    publisher = job.status["publisher"]
    pod = job.pod_of(publisher)["metadata"]["name"]
    with job.output_goes_on(MASKED_S):
        job.kubectl("delete", "pod", pod, "--grace-period=0", "--force")
        job.flows_on(400)
        job.when_ready()
    assert job.pod_of(publisher)["metadata"]["name"] != pod

    publisher = job.status["publisher"]
    pod, node = job.pod_of(publisher)["metadata"]["name"], job.pod_of(publisher)["spec"]["nodeName"]
    try:
        with job.output_goes_on(MASKED_S):
            lab.kill(node)
            job.flows_on(400)
            job.wait(lambda: publisher in job.places() and job.places()[publisher] != node, 60, f"{pod} is replaced")
            job.when_ready()
    finally:
        lab.up(node)


def test_a_job_keeps_its_promise_with_no_operator_running(job: ClusterJob, tandem: str) -> None:
    operator = Kubectl(tandem)
    operator("scale", "deployment/tandem", "--replicas=0")
    try:
        pod = job.pod_of(job.status["publisher"])["metadata"]["name"]
        with job.output_goes_on(MASKED_S):
            job.kubectl("delete", "pod", pod, "--grace-period=0", "--force")
            job.flows_on(400)
    finally:
        operator("scale", "deployment/tandem", "--replicas=1")
    job.when_ready()


def test_a_deleted_job_leaves_nothing(kubectl: Kubectl, servers: Cluster, tandem: str) -> None:  # noqa: ARG001
    name = f"job-{uuid.uuid4().hex[:6]}"
    kubectl.apply(*manifests(servers, name))
    owned = "pods,configmaps,services,serviceaccounts,poddisruptionbudgets,networkpolicies"
    kubectl.wait(lambda: len(kubectl.list("pods", f"tandem.dev/job={name}")) == 2, 60, "its pods")

    kubectl("delete", "rsj", name, "--timeout", "60s", timeout_s=70)

    kubectl.wait(lambda: not kubectl.list(owned, f"tandem.dev/job={name}"), 90, "everything is gone")
