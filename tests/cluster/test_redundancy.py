"""Two actives and a standby: when a node loses its power there are two again, before Kubernetes has noticed anything."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient

from cluster.conftest import SNAPSHOTS, WITH_SNAPSHOTS
from cluster.jobs import START_S, ClusterJob, running_job
from cluster.kubernetes import Kubectl
from cluster.lab import Lab
from integration.workload import Cluster
from tandem.protocol.switchover import Role, replica_name
from tandem.replica.slots import look, root_of
from tandem.zookeeper import Nodes

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.thorough]

MASKED_S = 5.0
UNNOTICED_S = 10.0
"""So long Kubernetes needs to notice that a node is gone."""


@pytest.fixture
def three(servers: Cluster, kubectl: Kubectl, tandem: str) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be installed
    kubectl.apply(SNAPSHOTS)
    spec = {"standbys": 1, "snapshots": {"store": "/snapshots"}, "podTemplate": {"spec": WITH_SNAPSHOTS}}
    with running_job(kubectl, servers, "three", **spec) as job:
        job.when_staffed(2, 1)
        job.wait(lambda: job.is_true("StandbyFresh"), START_S, "the standby has proved its state")
        yield job


@pytest.fixture
def zookeeper(servers: Cluster) -> Iterator[KazooClient]:
    client = KazooClient(servers.zookeeper.connect)
    client.start(10)
    yield client
    client.stop()
    client.close()


def at_the_head(zookeeper: KazooClient, job: str) -> set[str]:
    """The replicas that compute at the head, those whose session has not ended yet included."""
    roles = look(Nodes(zookeeper, root_of(job))).roles
    return {replica_name(name) for name, role in roles.items() if role is Role.READY}


def test_after_a_power_cut_two_are_active_again_at_once_and_then_one_stands_by(
    three: ClusterJob, lab: Lab, zookeeper: KazooClient
) -> None:
    dead = three.status["publisher"]
    node = three.pod_of(dead)["spec"]["nodeName"]
    try:
        with three.output_goes_on(MASKED_S):
            lab.kill(node)
            began = time.monotonic()
            three.wait(lambda: len(at_the_head(zookeeper, three.name) - {dead}) == 2, UNNOTICED_S, "two active again")
            print(f"{three.name}: two active again after {time.monotonic() - began:.1f} s")
            three.wait(lambda: three.status.get("standby") == "0/1", 60, "the status tells that nobody stands by")
            three.flows_on(400)
    finally:
        lab.up(node)
    began = time.monotonic()
    three.when_staffed(2, 1)
    three.wait(lambda: three.is_true("StandbyFresh"), START_S, "the new standby has proved its state")
    print(f"{three.name}: a standby has proved its state {time.monotonic() - began:.0f} s after the node was back")
