"""Two actives and a standby: when a node loses its power there are two again, before Kubernetes has noticed anything.

There is a fourth node, so that another standby finds a place while the dead one is away.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient

from cluster.conftest import with_snapshots
from cluster.jobs import START_S, ClusterJob, running_job
from cluster.kubernetes import Kubectl, holds
from cluster.lab import Lab
from integration.workload import Cluster
from tandem.coordination.slots import look, root_of
from tandem.coordination.zookeeper import Nodes
from tandem.protocol.switchover import Role, replica_name

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200), pytest.mark.thorough]

MASKED_S = 5.0
AGAIN_S = 5.0
"""So long after a node has lost its power two are active again."""
VERIFIED_S = 60.0
"""So long after Kubernetes has noticed another standby has proved its state."""


@pytest.fixture
def fourth(lab: Lab, tandem: str) -> Iterator[None]:
    """One node more. What moved there, the operator perhaps, moves away at the end."""
    lab.add("n4")
    yield
    lab.remove("n4")
    Kubectl(tandem)("rollout", "status", "deployment/tandem", "--timeout=120s", timeout_s=130)


@pytest.fixture
def three(servers: Cluster, fourth: None, kubectl: Kubectl) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be there
    with running_job(kubectl, servers, "three", standbys=1, **with_snapshots(kubectl)) as job:
        job.when_staffed(2, 1)
        job.wait(lambda: job.is_true("StandbyFresh"), START_S, "the standby has proved its state")
        yield job


def at_the_head(zookeeper: KazooClient, job: str) -> set[str]:
    """The replicas that compute at the head, those whose session has not ended yet included."""
    roles = look(Nodes(zookeeper, root_of(job))).roles
    return {replica_name(name) for name, role in roles.items() if role is Role.READY}


def test_after_a_power_cut_two_are_active_again_at_once_and_soon_another_one_stands_by(
    three: ClusterJob, lab: Lab, zookeeper: KazooClient
) -> None:
    dead, pod = three.publishing()
    node = pod["spec"]["nodeName"]
    try:
        with three.output_goes_on(MASKED_S):
            began = time.monotonic()
            lab.kill(node)
            three.wait(lambda: len(at_the_head(zookeeper, three.name) - {dead}) == 2, 60, "two active again")
            again_s = time.monotonic() - began
            print(f"{three.name}: two active again after {again_s:.1f} s")
            three.wait(lambda: not holds(three.kubectl.get("node", node), "Ready"), 60, "Kubernetes has noticed")
            noticed = time.monotonic()
            three.wait(lambda: three.status.get("standby") == "0/1", 60, "the status tells that nobody stands by")
            three.when_staffed(2, 1)
            three.wait(lambda: three.is_true("StandbyFresh"), START_S, "the new standby has proved its state")
            verified_s = time.monotonic() - noticed
            print(f"{three.name}: another standby has proved its state {verified_s:.0f} s after Kubernetes noticed")
    finally:
        lab.up(node)
    assert again_s <= AGAIN_S
    assert verified_s <= VERIFIED_S
