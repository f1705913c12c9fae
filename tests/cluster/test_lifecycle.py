"""What users do to a running job: the reader notices nothing of it, or what was asked for."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.jobs import START_S, ClusterJob, running_job
from cluster.kubernetes import Kubectl, Lab, run
from integration.workload import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

MASKED_S = 5.0
PLUGIN = Path(sys.executable).with_name("kubectl-tandem")


def plugin(kubectl: Kubectl, *arguments: str) -> str:
    """`kubectl tandem …`"""
    command, *rest = arguments
    return run([str(PLUGIN), command, *rest, "--namespace", kubectl.namespace], timeout_s=240)


@pytest.fixture
def pair(kubectl: Kubectl, servers: Cluster, tandem: str) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be installed
    """One active replica and one standby."""
    with running_job(kubectl, servers, f"job-{uuid.uuid4().hex[:6]}", replicas=1, standbys=1) as running:
        yield running


@pytest.fixture
def two(kubectl: Kubectl, servers: Cluster, tandem: str) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be installed
    """Two active replicas."""
    with running_job(kubectl, servers, f"job-{uuid.uuid4().hex[:6]}") as running:
        yield running


def roles(job: ClusterJob) -> dict[str, str]:
    return {member["name"]: member["role"] for member in job.status.get("members", ())}


def test_a_promoted_standby_takes_over_and_a_suspended_job_goes_on_where_it_was(pair: ClusterJob) -> None:
    pair.wait(lambda: sorted(roles(pair).values()) == ["active", "standby"], START_S, "an active and a standby")
    before = roles(pair)
    standby = next(name for name, role in before.items() if role == "standby")
    with pair.output_goes_on(MASKED_S):
        print(plugin(pair.kubectl, "promote", pair.name, standby))
        pair.flows_on(400)
    pair.wait(lambda: roles(pair).get(standby) == "active", 60, f"{standby} is shown as active")
    assert "by " + standby in plugin(pair.kubectl, "status", pair.name)

    plugin(pair.kubectl, "suspend", pair.name)
    pair.wait(lambda: not pair.pods(), 120, "its pods are gone")
    assert pair.status["phase"] == "Suspended"
    plugin(pair.kubectl, "resume", pair.name)
    pair.wait(lambda: pair.is_true("Ready"), START_S, "Ready")
    pair.flows_on(400)


def test_a_replica_that_is_cut_off_is_fenced_and_comes_back(two: ClusterJob, lab: Lab) -> None:
    publisher = two.status["publisher"]
    node = two.pod_of(publisher)["spec"]["nodeName"]
    try:
        with two.output_goes_on(MASKED_S):
            lab.cut(node)
            two.flows_on(400)
            two.wait(lambda: two.places().get(publisher, node) != node, 60, f"{publisher} gets another pod")
    finally:
        lab.heal(node)
    two.when_ready()
    two.flows_on(400)


def test_a_drained_node_costs_the_reader_nothing(two: ClusterJob) -> None:
    publisher = two.status["publisher"]
    node = two.pod_of(publisher)["spec"]["nodeName"]
    drain = ("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s")
    try:
        with two.output_goes_on(MASKED_S):
            two.kubectl(*drain, "--pod-selector", f"tandem.dev/job={two.name}", timeout_s=150)
            two.flows_on(400)
    finally:
        two.kubectl("uncordon", node)
    two.when_ready()
