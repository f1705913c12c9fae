"""What readers notice of a node that loses its power under the publisher, if there is another active replica.

The figures are printed (`-s`); asserted is only what holds on any machine.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

import pytest

from cluster.gaps import beside_a_quiet_stretch, measured_job
from cluster.jobs import ClusterJob
from cluster.lab import Lab
from integration.workload import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.thorough]

UNNOTICED_S = 6.0
"""So long Kubernetes has not noticed it, and starts nothing."""


@pytest.fixture(scope="module")
def job(servers: Cluster, tandem: str) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be installed
    """Two active replicas, with short epochs, and snapshots, from which another one goes on."""
    with measured_job(servers, f"powered-{uuid.uuid4().hex[:6]}") as job:
        yield job


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_gap_of_a_power_cut(job: ClusterJob, lab: Lab, number: int) -> None:
    """Until there are two replicas again."""
    job.when_ready()
    replica, pod = job.publishing()
    node = pod["spec"]["nodeName"]
    try:
        with beside_a_quiet_stretch(job, f"power cut {number}", job.when_ready):
            began = time.monotonic()
            lab.kill(node)
            job.flows_on(400)
            job.when_elsewhere(replica, node)
            job.when_ready()
            gap = job.reader.longest_gap(began, began + UNNOTICED_S)
            print(f"power cut {number}: {gap * 1000:.0f} ms in the first {UNNOTICED_S:.0f} s")
    finally:
        lab.up(node)
    job.check_exactly_once()
