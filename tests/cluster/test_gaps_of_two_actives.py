"""What readers notice of a drain and an upgrade of a job with two active replicas: while one goes, the other publishes.

The figures are printed (`-s`); asserted is only what holds on any machine, as in test_gaps.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.gaps import beside_a_quiet_stretch, drained, measured_job, upgraded
from cluster.jobs import ClusterJob
from integration.workload import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.thorough]


@pytest.fixture(scope="module")
def job(servers: Cluster, tandem: str) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be installed
    """Two active replicas, with short epochs."""
    with measured_job(servers, "gaps-of-two") as job:
        yield job


@pytest.fixture(autouse=True)
def whole(job: ClusterJob) -> Iterator[None]:
    job.when_ready()
    yield
    job.check_exactly_once()


@pytest.mark.parametrize("number", [1, 2])
def test_the_gap_of_a_drained_node(job: ClusterJob, number: int) -> None:
    with beside_a_quiet_stretch(job, f"drain {number}, two actives", job.when_ready):
        drained(job, job.publisher())


def test_the_gap_of_a_rolling_upgrade(job: ClusterJob) -> None:
    with beside_a_quiet_stretch(job, "rolling upgrade, two actives", job.when_ready):
        upgraded(job)
        job.when_ready()
