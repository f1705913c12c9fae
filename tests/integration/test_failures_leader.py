"""Failures under load with a leader: no record is lost, duplicated or reordered, and the output goes on.

One job for the whole file: each test begins when both replicas are at the head, and ends with everything accounted for.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from integration.waiting import for_a_while
from integration.workload import START_DEADLINE_S, Cluster, Workload, write_manifest
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.local.scrape import Sample
from tandem.protocol.switchover import replica_name

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

ZOMBIE_S = 10.0
SESSION_S = 10
"""A dead leader leads in ZooKeeper for at least two thirds of this: it was last heard of up to a third before its end."""
MASKED_S = 6.0
"""A failure is masked within parts of a second. Else it lasts for as long as a pause, as a replica's start (ten seconds and
more on two cores), or as ZooKeeper takes for an election: the bound only tells these apart. `bench/` measures the gap."""
REPLICAS = ("replica-0", "replica-1")
TOLD = ("took_over", "fenced", "transaction_failed")


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workload]:
    """Two replicas, each with an orderer; ZooKeeper elects the leader."""
    folder = tmp_path_factory.mktemp("leader")
    name = f"leader-{uuid.uuid4().hex[:6]}"
    with KafkaBroker(folder / "kafka") as kafka, ZooKeeperServer(folder / "zookeeper") as zookeeper:
        cluster = Cluster(kafka, zookeeper)
        patient = {"connect": zookeeper.connect, "sessionTimeout": f"{SESSION_S}s"}
        made = Workload(cluster, write_manifest(folder / "job", cluster, name, zookeeper=patient), name)
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


def paused(workload: Workload, name: str, for_s: float = ZOMBIE_S) -> None:
    """Stop a process for a while, then let it go on: a zombie returns."""
    workload.job.pause(name)
    for_a_while(for_s, f"{name} is paused")
    workload.job.resume(name)


def test_killing_the_publishing_replica_is_masked(workload: Workload) -> None:
    victim, survivor = workload.publisher_and_other()
    published, before, phases = workload.published_epoch(), workload.sample(survivor), workload.phases(survivor)
    with workload.output_goes_on(MASKED_S):
        workload.job.kill(victim)
        workload.flows_on(400)
    assert_risen(before, workload.sample(survivor), "claims_won", "epochs_published", "rows_published", "input_records")
    risen = {phase for phase, times in workload.phases(survivor).items() if times > phases.get(phase, 0)}
    assert risen >= {"wait", "fetch", "offer", "compute", "digest", "encode", "publish"}

    workload.when_whole()
    assert restored(workload, victim)["epoch"] >= published, "what was published is computed again"


def assert_risen(before: Sample, after: Sample, *counters: str) -> None:
    """The counters have risen; and if epochs were published, so has the number of latencies."""
    for counter in counters:
        name = f"tandem_{counter}_total"
        assert after.count(name) > before.count(name), name
    if "epochs_published" in counters:
        assert after.latency.since(before.latency).count > 0


def restored(workload: Workload, replica: str) -> dict[str, Any]:
    """What a replica said when it last restored a checkpoint."""
    lines = workload.logged(replica, "checkpoint_restored")
    assert lines, f"{replica} has computed everything again\n{workload.story()}"
    return lines[-1]


@pytest.mark.thorough
def test_killing_the_other_replica_is_masked(workload: Workload) -> None:
    with workload.output_goes_on(MASKED_S):
        workload.job.kill(workload.other())
        workload.flows_on(400)


def test_a_publishing_replica_that_returns_as_a_zombie_changes_nothing(workload: Workload) -> None:
    with workload.output_goes_on(MASKED_S):
        paused(workload, workload.publisher())
    workload.flows_on(400)


@pytest.mark.thorough
def test_another_replica_that_returns_as_a_zombie_catches_up(workload: Workload) -> None:
    with workload.output_goes_on(MASKED_S):
        paused(workload, workload.other())
    workload.when_whole()


def test_an_epoch_that_its_owner_cannot_publish_is_taken_over_and_told(workload: Workload) -> None:
    before = {name: workload.sample(name) for name in REPLICAS}

    def risen(counter: str) -> bool:
        name = f"tandem_{counter}_total"
        return sum(workload.sample(r).count(name) - before[r].count(name) for r in REPLICAS) > 0

    def lines(event: str, epoch: int) -> list[dict[str, Any]]:
        return [line for name in REPLICAS for line in workload.logged(name, event) if line["epoch"] == epoch]

    stalled = -1

    def is_told() -> bool:
        """Of the epoch that stalls: one before it may have been taken over, too, and been published."""
        nonlocal stalled
        stalled = workload.published_epoch() + 1
        counted = all(map(risen, ("take_overs", "fences", "unknown_commits")))
        return counted and all(lines(event, stalled) for event in TOLD)

    with workload.markers_withheld():
        workload.wait(is_told, 60, "a take-over, that its owner is fenced, and that both are told")
    workload.flows_on(400)
    assert all(map(risen, ("claims_won", "claims_lost", "unknown_commits")))
    assert any("fence" in workload.phases(name) for name in REPLICAS)

    for event in TOLD:
        told = lines(event, stalled)
        assert told, f"no line says that epoch {stalled} is {event}"
        assert all(line["job"] == workload.name and line["replica"] in REPLICAS for line in told)
    (first, *_) = lines("took_over", stalled)
    assert replica_name(first["owner_before"]) == next(name for name in REPLICAS if name != first["replica"])


def test_killing_the_leading_orderer_costs_some_epochs_at_most(workload: Workload) -> None:
    leader = workload.leader()
    (other,) = {"orderer-0", "orderer-1"} - {leader}
    before = workload.sample(other)
    with workload.output_goes_on(MASKED_S):
        workload.job.kill(leader)
        workload.flows_on(400)
    won = "tandem_cuts_won_total"  # the leader's last cut may have had all of those records
    workload.wait(lambda: workload.sample(other).count(won) > before.count(won), MASKED_S, "cuts of the other orderer")
    assert_risen(before, workload.sample(other), "cuts_proposed", "cuts_won")
    assert workload.leader() == other
    assert_risen(before, workload.sample(other), "leader_changes")


@pytest.mark.thorough
def test_a_leading_orderer_that_returns_as_a_zombie_changes_nothing(workload: Workload) -> None:
    leader = workload.leader()
    with workload.output_goes_on(MASKED_S):
        paused(workload, leader, 1.5 * SESSION_S)
    workload.flows_on(400)
    assert workload.leader() != leader, "it still leads: its session did not end"


@pytest.mark.thorough
def test_both_replicas_killed_one_after_the_other(workload: Workload) -> None:
    first = workload.publisher()
    workload.job.kill(first)
    workload.flows_on(200)
    second = next(name for name in ("replica-0", "replica-1") if name != first)
    workload.job.kill(second)
    workload.when_whole()


@pytest.mark.thorough
def test_the_job_goes_on_while_zookeeper_is_away_for_half_a_minute(workload: Workload) -> None:
    with workload.output_goes_on(MASKED_S):
        workload.cluster.zookeeper.kill()
        for_a_while(30, "ZooKeeper is away")
        workload.cluster.zookeeper.start()
    workload.leader()


def test_a_restart_of_zookeeper_is_not_noticed(workload: Workload) -> None:
    with workload.output_goes_on(MASKED_S):
        workload.cluster.zookeeper.restart()
        workload.flows_on(400)
    workload.leader()


@pytest.mark.parametrize("seconds_down", [3, pytest.param(20, marks=pytest.mark.thorough)])
def test_after_a_restart_of_the_broker_everything_goes_on(workload: Workload, seconds_down: int) -> None:
    workload.cluster.kafka.stop()
    for_a_while(seconds_down, "the broker is down")
    workload.cluster.kafka.start()
    workload.flows_on(400)


@pytest.mark.thorough
def test_after_a_full_stop_the_job_goes_on_from_the_state_that_is_left(workload: Workload) -> None:
    """First one replica from its own checkpoint, then the other, which has none any more, from that of the first."""
    published = workload.published_epoch()
    workload.flows_on(400)
    workload.job.stop()
    checkpoints = workload.job.manifest.checkpoint_directory
    for folder in checkpoints.glob(f"{workload.name}.replica-1.*"):
        shutil.rmtree(folder)
    workload.job.start("replica-0", "orderer-0")
    workload.flows_on(400, START_DEADLINE_S)
    workload.job.start()
    workload.when_whole()
    for replica in REPLICAS:
        line = restored(workload, replica)
        assert line["epoch"] >= published, "what was published is computed again"
        assert Path(line["folder"]).parent.name.startswith(f"{workload.name}.replica-0."), line
    workload.flows_on(400)
