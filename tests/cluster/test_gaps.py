"""What readers notice of a switchover, a drain, an upgrade of a job with a standby.

The figures are printed (`-s`); asserted is only what holds on any machine. Nodes that share two cores start a JVM at the
cost of those that compute.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from cluster.commands import one_of, plugin
from cluster.gaps import beside_a_quiet_stretch, drained, measured_job, upgraded
from cluster.jobs import ClusterJob
from integration.workload import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.thorough]


@pytest.fixture(scope="module")
def job(servers: Cluster, tandem: str) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be installed
    """One active replica and a standby, with short epochs."""
    with measured_job(servers, "gaps", replicas=1, standbys=1) as job:
        yield job


@pytest.fixture(autouse=True)
def staffed(job: ClusterJob) -> Iterator[None]:
    job.when_staffed(1, 1)
    job.wait(lambda: job.is_true("StandbyFresh"), 120, "the standby has proved its state")
    yield
    job.check_exactly_once()


def beside_quiet(job: ClusterJob, what: str) -> AbstractContextManager[None]:
    return beside_a_quiet_stretch(job, what, lambda: job.when_staffed(1, 1))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_gap_of_a_switchover(job: ClusterJob, number: int) -> None:
    standby = one_of(job, "standby")
    with beside_quiet(job, f"switchover {number}"):
        plugin(job, "promote", standby)
        job.flows_on(2_000)


def test_the_gap_of_a_drained_node(job: ClusterJob) -> None:
    with beside_quiet(job, "drain"):
        drained(job, one_of(job, "active"))


def test_the_gap_of_a_rolling_upgrade(job: ClusterJob) -> None:
    with beside_quiet(job, "rolling upgrade"):
        upgraded(job)
        job.when_staffed(1, 1)
