"""What befalls a job on a cluster, while a reader reads on: nothing lost, repeated or reordered, and no long gap.

One job for the whole file: each test begins when both replicas are at the head, and ends with everything accounted for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from kazoo.client import KazooClient

from cluster.installed import OPERATOR, crashed, no_operator, operator_on, operator_restarts
from cluster.jobs import ClusterJob
from cluster.kubernetes import Kubectl, Object, restarts
from cluster.lab import Lab
from tandem.coordination.slots import root_of
from tandem.coordination.zookeeper import Nodes

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

MASKED_S = 8.0
"""A take-over takes one to two seconds, more on a busy machine; Kubernetes notices a dead node after ten."""
SILENT_S = 30.0
"""So long the API server is away."""
BROKER_S = 60.0
"""Nothing comes out while the only broker restarts: ten seconds or so, longer on a busy machine."""


@pytest.fixture(autouse=True)
def whole(two: ClusterJob) -> Iterator[None]:
    two.when_ready()
    yield
    two.check_exactly_once()


def delete(job: ClusterJob, pod: Object, *options: str) -> None:
    job.kubectl("delete", "pod", pod["metadata"]["name"], *options, timeout_s=90)


def test_a_pod_deleted_without_grace_is_replaced_under_a_new_name(two: ClusterJob) -> None:
    nodes = [pod["spec"]["nodeName"] for pod in two.pods()]
    assert len(set(nodes)) == 2, f"both members are on one node: {nodes}"
    two.wait(lambda: two.is_true("OrderingAvailable"), 30, "an orderer leads")

    replica, pod = two.publishing()
    with two.output_goes_on(MASKED_S):
        delete(two, pod, "--grace-period=0", "--force")
        two.flows_on(400)
        two.when_ready()
    assert two.pod_of(replica)["metadata"]["name"] != pod["metadata"]["name"]


@pytest.mark.thorough
def test_a_pod_deleted_with_grace_ends_well_and_leaves_nothing_in_zookeeper(
    two: ClusterJob, zookeeper: KazooClient
) -> None:
    replica, pod = two.publishing()
    left = in_zookeeper(zookeeper, two.name, replica)
    assert len(left) == 2, f"not a replica and an orderer: {left}"
    succeeded = ("wait", f"pod/{pod['metadata']['name']}", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=90s")
    with two.output_goes_on(MASKED_S), two.kubectl.meanwhile(*succeeded):
        delete(two, pod)
        assert not left & in_zookeeper(zookeeper, two.name, replica)
        two.flows_on(400)


def in_zookeeper(zookeeper: KazooClient, job: str, replica: str) -> set[str]:
    """What a replica and the orderer beside it have in ZooKeeper; a killed process leaves it there for a while."""
    nodes = Nodes(zookeeper, root_of(job))
    return {name for folder in ("replicas", "orderers") for name in nodes.children(folder) if f".{replica}" in name}


@pytest.mark.parametrize("container", ["replica", "orderer"])
def test_a_killed_container_comes_back_in_its_pod(two: ClusterJob, lab: Lab, container: str) -> None:
    replica = two.publisher() if container == "replica" else two.leader()
    pod = two.pod_of(replica)
    before = restarts(pod, container)
    with two.output_goes_on(MASKED_S):
        lab.kill_container(pod, container)
        two.flows_on(400)
        two.wait(lambda: restarts(two.pod_of(replica), container) == before + 1, 60, "its restart")
        two.when_ready()
    assert two.pod_of(replica)["metadata"]["name"] == pod["metadata"]["name"]


def test_a_node_powered_off_under_the_publisher_is_not_waited_for(two: ClusterJob, lab: Lab) -> None:
    replica, pod = two.publishing()
    node = pod["spec"]["nodeName"]
    try:
        with two.output_goes_on(MASKED_S):
            lab.kill(node)
            two.flows_on(400)
            two.when_elsewhere(replica, node)
            two.when_ready()
    finally:
        lab.up(node)


@pytest.mark.thorough
def test_a_replica_that_is_cut_off_is_fenced_and_its_place_taken(two: ClusterJob, lab: Lab, tandem: str) -> None:
    """With the operator beside it, which comes back with the world of then when another one has done all this."""
    replica, pod = two.publishing()
    name, node = pod["metadata"]["name"], pod["spec"]["nodeName"]
    operator_on(tandem, node)
    (there,) = operator_restarts(tandem)
    try:
        with two.output_goes_on(MASKED_S):
            lab.cut(node)
            two.flows_on(400)
            two.when_elsewhere(replica, node)
            two.when_ready()
            members = {member["metadata"]["uid"] for member in two.pods()}
            two.wait(lambda: two.kubectl.get("pod", name) == {}, 60, f"{name} is given up")
            assert lab.runs(pod), f"{name} has ended: there is no zombie that could return"
            lab.heal(node)
            two.flows_on(400)
            two.wait(lambda: not lab.runs(pod), 120, f"{name}, which Kubernetes no longer knows, ends")
            two.wait(lambda: there not in operator_restarts(tandem), 60, "the operator that was cut off ends")
            two.flows_on(400)
    finally:
        lab.heal(node)
    assert {member["metadata"]["uid"] for member in two.pods()} == members, "somebody who worked was replaced"
    two.when_ready()


def test_the_job_keeps_its_promise_with_no_operator_running(two: ClusterJob, tandem: str) -> None:
    leader = two.leader()
    with no_operator(tandem), two.output_goes_on(MASKED_S):
        delete(two, two.pod_of(leader), "--grace-period=0", "--force")
        two.flows_on(400)


@pytest.mark.thorough
def test_neither_the_job_nor_the_operator_minds_an_api_server_that_is_away(
    two: ClusterJob, lab: Lab, tandem: str
) -> None:
    _, pod = two.publishing()
    before = operator_restarts(tandem)
    with two.output_goes_on(MASKED_S), lab.without_api_server():
        back = time.monotonic() + SILENT_S
        lab.kill_container(pod, "replica")
        two.flows_on(400)
        two.flows_on(int((back - time.monotonic()) * two.feeder.rate), 2 * SILENT_S)
    returned = datetime.now(UTC)
    two.wait(lambda: two.looked_at() > returned, 120, "the operator looks after the job again")
    two.when_ready()
    assert not crashed(tandem, before)


@pytest.mark.thorough
def test_a_restart_of_zookeeper_is_not_noticed(two: ClusterJob) -> None:
    with two.output_goes_on(MASKED_S):
        two.cluster.zookeeper.restart()
        two.flows_on(400)


@pytest.mark.thorough
def test_the_job_goes_on_after_a_restart_of_the_broker(two: ClusterJob) -> None:
    began = time.monotonic()
    with two.output_goes_on(BROKER_S):
        two.cluster.kafka.restart()
        print(f"{two.name}: the broker was back after {time.monotonic() - began:.1f} s")
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
def test_three_nodes_may_be_drained_one_after_the_other(two: ClusterJob, tandem: str) -> None:
    """Of all that runs there: the operator goes, too, when it is its node's turn."""
    operators = operator_restarts(tandem).keys()
    nodes = [node["metadata"]["name"] for node in two.kubectl.list("nodes")]
    assert len(nodes) >= 3
    for node in nodes:
        drain = ("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=180s")
        try:
            with two.output_goes_on(MASKED_S):
                two.kubectl(*drain, timeout_s=200)
                two.flows_on(400)
                two.when_ready()
            assert node not in two.places().values()
        finally:
            two.kubectl("uncordon", node)
    assert not operators & operator_restarts(tandem).keys()
