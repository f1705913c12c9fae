"""Failures under load with heartbeat generators: nobody is elected, so nobody has to be replaced."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from integration.tiers import variants
from integration.waiting import for_a_while
from integration.workload import Cluster, Workload, write_manifest
from tandem.devservers import KafkaBroker, ZooKeeperServer

pytestmark = [pytest.mark.integration, pytest.mark.thorough, pytest.mark.timeout(600)]

ZOMBIE_S = 10.0
MASKED_S = 4.0
"""A failure is masked within parts of a second; else it lasts for as long as the pause, or as a replica's start."""
GENERATORS = ("generator-0", "generator-1")


@pytest.fixture(scope="module")
def workload(
    kafka: KafkaBroker, zookeeper: ZooKeeperServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workload]:
    """Two replicas, and two heartbeat generators that know nothing of each other."""
    folder = tmp_path_factory.mktemp("heartbeat")
    name = f"heartbeat-{uuid.uuid4().hex[:6]}"
    cluster = Cluster(kafka, zookeeper)
    manifest = write_manifest(folder, cluster, name, ordering={"mode": "heartbeat"})
    made = Workload(cluster, manifest, name)
    made.job.start()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(autouse=True)
def whole(workload: Workload) -> Iterator[None]:
    """Before: both at the head. After: everything that was sent came out once, in order."""
    workload.when_whole()
    yield
    workload.check_exactly_once()


@pytest.mark.parametrize("generator", GENERATORS)
def test_without_a_generator_the_other_is_enough(workload: Workload, generator: str) -> None:
    with workload.output_goes_on(MASKED_S):
        workload.job.kill(generator, stay_down=True)
        workload.flows_on(400)
    workload.job.start(generator)


@pytest.mark.parametrize("generator", variants(GENERATORS, in_ci=GENERATORS[:1]))
def test_a_generator_that_returns_as_a_zombie_has_no_effect(workload: Workload, generator: str) -> None:
    with workload.output_goes_on(MASKED_S):
        workload.job.pause(generator)
        for_a_while(ZOMBIE_S, f"{generator} is paused")
        workload.job.resume(generator)
    workload.flows_on(400)


def test_killing_the_publishing_replica_is_masked(workload: Workload) -> None:
    with workload.output_goes_on(MASKED_S):
        workload.job.kill(workload.publisher())
        workload.flows_on(400)
