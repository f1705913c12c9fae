"""What readers notice of a switchover, a drain, an upgrade: the longest gap, beside a stretch in which nothing happens.

The figures are printed (`-s`); asserted is only what holds on any machine. Nodes that share two cores start a JVM at the
cost of those that compute.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cluster.conftest import SNAPSHOTS, WITH_SNAPSHOTS, own_namespace
from cluster.jobs import ClusterJob, running_job
from cluster.test_lifecycle import one_of, plugin
from integration.workload import Cluster
from tandem.embedded.waiting import Deadline, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.thorough]

MASKED_S = 5.0
SHORT = {"mode": "leader", "minEpochInterval": "250ms"}
A_CORE = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1"}}
"""With a limit, the start of one pod leaves a core to the others."""


@pytest.fixture(scope="module")
def job(servers: Cluster, tandem: str) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be installed
    """One active replica and a standby, with short epochs."""
    spec = {
        "replicas": 1,
        "standbys": 1,
        "ordering": SHORT,
        "resources": A_CORE,
        "snapshots": {"store": "/snapshots"},
        "podTemplate": {"spec": WITH_SNAPSHOTS},
    }
    with own_namespace() as kubectl:
        kubectl.apply(SNAPSHOTS)
        with running_job(kubectl, servers, "gaps", **spec) as job:
            yield job


@pytest.fixture(autouse=True)
def staffed(job: ClusterJob) -> Iterator[None]:
    job.when_staffed(1, 1)
    job.wait(lambda: job.is_true("StandbyFresh"), 120, "the standby has proved its state")
    yield
    job.check_exactly_once()


@contextmanager
def beside_a_quiet_stretch(job: ClusterJob, what: str) -> Iterator[None]:
    """Measure the longest gap while the block runs, and then for as long while nothing happens."""
    began = time.monotonic()
    yield
    ended = time.monotonic()
    gap = job.reader.longest_gap(began, ended)
    job.when_staffed(1, 1)
    quiet = time.monotonic()
    wait_until(lambda: False, Deadline(ended - began))
    usual = job.reader.longest_gap(quiet, time.monotonic())
    print(f"{what}: {gap * 1000:.0f} ms in {ended - began:.0f} s; else {usual * 1000:.0f} ms, ratio {gap / usual:.2f}")
    assert gap <= MASKED_S, f"the output had a gap of {gap:.1f} s\n{job.story()}"


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_gap_of_a_switchover(job: ClusterJob, number: int) -> None:
    standby = one_of(job, "standby")
    with beside_a_quiet_stretch(job, f"switchover {number}"):
        plugin(job, "promote", standby)
        job.flows_on(2_000)


def test_the_gap_of_a_drained_node(job: ClusterJob) -> None:
    node = job.pod_of(one_of(job, "active"))["spec"]["nodeName"]
    drain = ("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=120s")
    try:
        with beside_a_quiet_stretch(job, "drain"):
            job.kubectl(*drain, "--pod-selector", f"tandem.dev/job={job.name}", timeout_s=150)
            job.flows_on(2_000)
            job.kubectl("uncordon", node)
    finally:
        job.kubectl("uncordon", node)


def test_the_gap_of_a_rolling_upgrade(job: ClusterJob) -> None:
    before = {pod["metadata"]["name"] for pod in job.pods()}
    with beside_a_quiet_stretch(job, "rolling upgrade"):
        job.patch({"resources": {"requests": {"cpu": "510m", "memory": "1Gi"}}})
        job.wait(lambda: not before & {pod["metadata"]["name"] for pod in job.pods()}, 300, "all pods are new")
        job.when_staffed(1, 1)
