"""What befalls a job on a cluster, while a reader reads on: nothing lost, repeated or reordered, and no long gap.

One job for the whole file: each test begins when both replicas are at the head, and ends with everything accounted for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from cluster.installed import OPERATOR, no_operator
from cluster.jobs import ClusterJob
from cluster.kubernetes import Kubectl, Object
from cluster.lab import Lab

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

MASKED_S = 5.0
"""A take-over takes a fraction of a second, some seconds on a busy machine; Kubernetes notices a dead node after ten."""
SILENT_S = 30.0
"""So long the API server is away."""


@pytest.fixture(autouse=True)
def whole(two: ClusterJob) -> Iterator[None]:
    two.when_ready()
    yield
    two.check_exactly_once()


def publishing(job: ClusterJob) -> tuple[str, Object]:
    """The replica that publishes, and its pod."""
    replica = job.status["publisher"]
    return replica, job.pod_of(replica)


def delete(job: ClusterJob, pod: Object, *options: str) -> None:
    job.kubectl("delete", "pod", pod["metadata"]["name"], *options, timeout_s=90)


def test_a_pod_deleted_without_grace_is_replaced_under_a_new_name(two: ClusterJob) -> None:
    nodes = [pod["spec"]["nodeName"] for pod in two.pods()]
    assert len(set(nodes)) == 2, f"both members are on one node: {nodes}"
    assert two.is_true("OrderingAvailable")

    replica, pod = publishing(two)
    with two.output_goes_on(MASKED_S):
        delete(two, pod, "--grace-period=0", "--force")
        two.flows_on(400)
        two.when_ready()
    assert two.pod_of(replica)["metadata"]["name"] != pod["metadata"]["name"]


@pytest.mark.thorough
def test_a_pod_deleted_with_grace_hands_over(two: ClusterJob) -> None:
    _, pod = publishing(two)
    with two.output_goes_on(MASKED_S):
        delete(two, pod)
        two.flows_on(400)


@pytest.mark.thorough
def test_a_killed_container_comes_back_in_its_pod(two: ClusterJob, lab: Lab) -> None:
    replica, pod = publishing(two)
    with two.output_goes_on(MASKED_S):
        lab.kill_container(pod, "replica")
        two.flows_on(400)
        two.wait(lambda: restarts(two.pod_of(replica)) == 1, 60, "its restart")
        two.when_ready()
    assert two.pod_of(replica)["metadata"]["name"] == pod["metadata"]["name"]


def restarts(pod: Object) -> int:
    return sum(one["restartCount"] for one in pod["status"]["containerStatuses"] if one["name"] == "replica")


def test_a_node_powered_off_under_the_publisher_is_not_waited_for(two: ClusterJob, lab: Lab) -> None:
    replica, node = publishing_node(two)
    try:
        with two.output_goes_on(MASKED_S):
            lab.kill(node)
            moves_away(two, replica, node)
            two.when_ready()
    finally:
        lab.up(node)


@pytest.mark.thorough
def test_a_replica_that_is_cut_off_is_fenced_and_its_place_taken(two: ClusterJob, lab: Lab) -> None:
    replica, node = publishing_node(two)
    try:
        with two.output_goes_on(MASKED_S):
            lab.cut(node)
            moves_away(two, replica, node)
    finally:
        lab.heal(node)
    two.flows_on(400)


def publishing_node(two: ClusterJob) -> tuple[str, str]:
    """The replica that publishes, and its node."""
    replica, pod = publishing(two)
    return replica, pod["spec"]["nodeName"]


def moves_away(two: ClusterJob, replica: str, node: str) -> None:
    """Output goes on, and the replica gets another pod on another node."""
    two.flows_on(400)
    two.wait(lambda: two.places().get(replica, node) != node, 60, f"{replica} gets another pod")


def test_the_job_keeps_its_promise_with_no_operator_running(two: ClusterJob, tandem: str) -> None:
    leader = two.status["leader"].replace("orderer", "replica")
    with no_operator(tandem), two.output_goes_on(MASKED_S):
        delete(two, two.pod_of(leader), "--grace-period=0", "--force")
        two.flows_on(400)


@pytest.mark.thorough
def test_neither_the_job_nor_the_operator_minds_an_api_server_that_is_away(two: ClusterJob, lab: Lab) -> None:
    _, pod = publishing(two)
    with two.output_goes_on(MASKED_S), lab.without_api_server():
        back = time.monotonic() + SILENT_S
        lab.kill_container(pod, "replica")
        two.flows_on(400)
        two.flows_on(int((back - time.monotonic()) * two.feeder.rate), 2 * SILENT_S)


@pytest.mark.thorough
def test_the_job_goes_on_after_restarts_of_zookeeper_and_of_the_broker(two: ClusterJob) -> None:
    with two.output_goes_on(MASKED_S):
        two.cluster.zookeeper.restart()
        two.flows_on(400)
    two.cluster.kafka.restart()
    two.flows_on(400)


@pytest.mark.thorough
def test_the_operator_may_be_killed_at_each_step_of_a_rolling_restart(two: ClusterJob, tandem: str) -> None:
    operator = Kubectl(tandem)
    before = {pod["metadata"]["name"] for pod in two.pods()}
    with two.output_goes_on(MASKED_S):
        two.kubectl("patch", "rsj", two.name, "--type=merge", "-p", '{"spec": {"restartNonce": 1}}')
        for left in (1, 0):
            there = {pod["metadata"]["name"] for pod in two.pods()}
            two.wait(lambda there=there: there != {p["metadata"]["name"] for p in two.pods()}, 120, "a step")
            operator("delete", "pod", "-l", OPERATOR, "--grace-period=0", "--force")
            two.wait(lambda left=left: remaining(two, before) <= left, 180, f"{left} old pods remain")
        two.when_ready()


def remaining(job: ClusterJob, before: set[str]) -> int:
    return len(before & {pod["metadata"]["name"] for pod in job.pods()})


@pytest.mark.thorough
def test_nodes_may_be_drained_one_after_the_other(two: ClusterJob) -> None:
    for node in sorted({pod["spec"]["nodeName"] for pod in two.pods()}):
        drain = ("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s")
        try:
            with two.output_goes_on(MASKED_S):
                two.kubectl(*drain, "--pod-selector", f"tandem.dev/job={two.name}", timeout_s=150)
                two.flows_on(400)
        finally:
            two.kubectl("uncordon", node)
        two.when_ready()
