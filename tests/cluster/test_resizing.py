"""A job gets another standby, and gives it up again, while it runs: no other pod is touched, and readers notice nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.conftest import with_snapshots
from cluster.jobs import START_S, ClusterJob, running_job
from cluster.kubernetes import Kubectl
from integration.workload import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200), pytest.mark.thorough]

MASKED_S = 5.0


@pytest.fixture
def alone(servers: Cluster, kubectl: Kubectl, tandem: str) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be installed
    """One active replica, a standby, and snapshots: one of the lab's three nodes is free."""
    with running_job(kubectl, servers, "alone", replicas=1, standbys=1, **with_snapshots(kubectl)) as job:
        job.when_staffed(1, 1)
        yield job


def uids(job: ClusterJob) -> set[str]:
    return {pod["metadata"]["uid"] for pod in job.pods()}


def test_the_number_of_standbys_changes_while_the_job_runs(alone: ClusterJob) -> None:
    first = uids(alone)
    with alone.output_goes_on(MASKED_S):
        alone.patch({"standbys": 2})
        alone.when_staffed(1, 2)
        alone.wait(lambda: alone.is_true("StandbyFresh"), START_S, "both standbys have proved their state")
        both = uids(alone)
        assert first < both

        publisher = alone.publisher()
        alone.kubectl("delete", "pod", alone.pod_of(publisher)["metadata"]["name"], "--grace-period=0", "--force")
        alone.wait(lambda: alone.status.get("publisher", publisher) != publisher, 60, "a standby publishes")
        alone.when_staffed(1, 2)
        promoted = alone.publisher()
        pod = alone.pod_of(promoted)["metadata"]["uid"]
        assert pod in both

        before = uids(alone)
        alone.patch({"standbys": 1})
        alone.wait(lambda: len(alone.pods()) == 2, 120, "one pod has left")
        alone.when_staffed(1, 1)
        assert uids(alone) < before
        assert alone.publisher() == promoted
        assert alone.pod_of(promoted)["metadata"]["uid"] == pod
