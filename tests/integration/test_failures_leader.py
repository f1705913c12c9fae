"""Failures under load with a leader: no record is lost, duplicated or reordered, and the output goes on.

One job for the whole file: each test begins when both replicas are at the head, and ends with everything accounted for.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

import pytest

from integration.workload import Cluster, Workload, write_manifest
from tandem.embedded import KafkaBroker, ZooKeeperServer

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

ZOMBIE_S = 10.0
MASKED_S = 10.0
"""A failure is masked within parts of a second, and a replica's start takes ten seconds and more on two cores: the
bound only tells these apart. `bench/` measures the gap itself."""


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workload]:
    """Two replicas, each with an orderer; ZooKeeper elects the leader."""
    folder = tmp_path_factory.mktemp("leader")
    name = f"leader-{uuid.uuid4().hex[:6]}"
    with KafkaBroker(folder / "kafka") as kafka, ZooKeeperServer(folder / "zookeeper") as zookeeper:
        cluster = Cluster(kafka, zookeeper)
        made = Workload(cluster, write_manifest(folder / "job", cluster, name), name)
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


def paused(workload: Workload, name: str) -> None:
    """Stop a process for ten seconds, then let it go on: a zombie returns."""
    workload.job.pause(name)
    woken = time.monotonic() + ZOMBIE_S
    workload.wait(lambda: time.monotonic() > woken, ZOMBIE_S + 5, "the pause is over")
    workload.job.resume(name)


def test_killing_the_publishing_replica_is_masked(workload: Workload) -> None:
    with workload.output_goes_on(MASKED_S):
        workload.job.kill(workload.publisher())
        workload.flows_on(400)


def test_killing_the_other_replica_is_masked(workload: Workload) -> None:
    with workload.output_goes_on(MASKED_S):
        workload.job.kill(workload.other())
        workload.flows_on(400)


def test_a_publishing_replica_that_returns_as_a_zombie_changes_nothing(workload: Workload) -> None:
    with workload.output_goes_on(MASKED_S):
        paused(workload, workload.publisher())
    workload.flows_on(400)


def test_another_replica_that_returns_as_a_zombie_catches_up(workload: Workload) -> None:
    with workload.output_goes_on(MASKED_S):
        paused(workload, workload.other())
    workload.when_whole()


def test_killing_the_leading_orderer_costs_some_epochs_at_most(workload: Workload) -> None:
    with workload.output_goes_on(MASKED_S):
        workload.job.kill(workload.leader())
        workload.flows_on(400)


def test_a_leading_orderer_that_returns_as_a_zombie_changes_nothing(workload: Workload) -> None:
    with workload.output_goes_on(MASKED_S):
        paused(workload, workload.leader())
    workload.flows_on(400)


def test_both_replicas_killed_one_after_the_other(workload: Workload) -> None:
    first = workload.publisher()
    workload.job.kill(first)
    workload.flows_on(200)
    second = next(name for name in ("replica-0", "replica-1") if name != first)
    workload.job.kill(second)
    workload.when_whole()


def test_the_job_goes_on_while_zookeeper_is_away_for_half_a_minute(workload: Workload) -> None:
    with workload.output_goes_on(MASKED_S):
        workload.cluster.zookeeper.kill()
        back = time.monotonic() + 30
        workload.wait(lambda: time.monotonic() > back, 40, "half a minute is over")
        workload.cluster.zookeeper.start()
    workload.leader()


def test_a_restart_of_zookeeper_is_not_noticed(workload: Workload) -> None:
    with workload.output_goes_on(MASKED_S):
        workload.cluster.zookeeper.restart()
        workload.flows_on(400)
    workload.leader()


@pytest.mark.parametrize("seconds_down", [3, 20])
def test_after_a_restart_of_the_broker_everything_goes_on(workload: Workload, seconds_down: int) -> None:
    workload.cluster.kafka.stop()
    back = time.monotonic() + seconds_down
    workload.wait(lambda: time.monotonic() > back, seconds_down + 10, "the broker's time down is over")
    workload.cluster.kafka.start()
    workload.flows_on(400, 120)


def test_after_a_full_stop_the_job_goes_on_where_it_stopped(workload: Workload) -> None:
    workload.job.stop()
    workload.job.start()
    workload.when_whole()
    workload.flows_on(400)
