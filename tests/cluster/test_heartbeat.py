"""A job that heartbeat generators order: nobody is elected, and neither a generator nor a replica is missed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from cluster.conftest import own_namespace
from cluster.jobs import START_S, ClusterJob, running_job
from cluster.kubernetes import Object, holds
from integration.workload import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

MASKED_S = 8.0
WITHOUT_GRACE = ("--grace-period=0", "--force")


@pytest.fixture(scope="module")
def beating(servers: Cluster, tandem: str) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be installed
    """Two replicas and two generators."""
    name, ordering = f"beating-{uuid.uuid4().hex[:6]}", {"mode": "heartbeat", "minEpochInterval": "1s"}
    with own_namespace() as kubectl, running_job(kubectl, servers, name, ordering=ordering) as job:
        yield job


def generators(job: ClusterJob) -> dict[str, Object]:
    """The generators' pods that are ready, by name."""
    pods = job.kubectl.list("pods", f"tandem.dev/job={job.name},app.kubernetes.io/component=generator")
    return {
        pod["metadata"]["name"]: pod
        for pod in pods
        if "deletionTimestamp" not in pod["metadata"] and holds(pod, "Ready")
    }


def test_a_lost_generator_is_replaced_and_the_reader_notices_nothing(beating: ClusterJob) -> None:
    beating.wait(lambda: beating.condition("OrderingAvailable")[:2] == ("True", "Beating"), 60, "a generator beats")
    beating.wait(lambda: len(generators(beating)) == 2, START_S, "two generators")
    lost = min(generators(beating))
    with beating.output_goes_on(MASKED_S):
        beating.kubectl("delete", "pod", lost, *WITHOUT_GRACE, timeout_s=90)
        beating.flows_on(400)
        beating.wait(lambda: len(generators(beating).keys() - {lost}) == 2, START_S, f"{lost} is replaced")
    beating.check_exactly_once()


def test_a_lost_publisher_is_taken_over_from(beating: ClusterJob) -> None:
    _, pod = beating.publishing()
    with beating.output_goes_on(MASKED_S):
        beating.kubectl("delete", "pod", pod["metadata"]["name"], *WITHOUT_GRACE, timeout_s=90)
        beating.flows_on(400)
    beating.check_exactly_once()
