"""A job with lanes on the cluster: each is a job of its own, and what befalls one is not seen in another."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator

import pytest

from cluster.conftest import own_namespace, with_snapshots
from cluster.jobs import START_S, manifests, submit
from cluster.laned import Lanes
from integration.traffic import Feeder
from integration.workload import Cluster
from tandem.kafka.topics import NewTopic, Topics

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

MASKED_S = 5.0
LANES = 2


@pytest.fixture(scope="module")
def lanes(servers: Cluster, tandem: str) -> Iterator[Lanes]:  # noqa: ARG001, it must be installed
    name = f"lanes-{uuid.uuid4().hex[:6]}"
    with own_namespace() as kubectl:
        job = Lanes(kubectl, servers, name, submit(kubectl, servers, name, lanes=LANES))
        try:
            job.when_all_ready()
            yield job
        finally:
            job.close()


def test_each_lane_is_a_job_of_its_own_with_its_replicas_on_different_nodes(lanes: Lanes) -> None:
    for number in range(LANES):
        nodes = [pod["spec"]["nodeName"] for pod in lanes.pods_of(number)]
        assert len(set(nodes)) == 2, f"the replicas of lane {number} are on {nodes}"
        is_running = lambda number=number: lanes.lane(number)["status"]["phase"] == "Running"  # noqa: E731
        lanes.wait(is_running, 60, f"lane {number} runs")
    lanes.wait(lambda: lanes.status["active"] == "4/4", 60, "the whole says so")
    table = lanes.kubectl("get", "rsj", lanes.name)
    assert "LANES" in table
    assert "2/2" in table
    counted = lambda: {key for key, values in list(lanes.reader.counts.items()) if values}  # noqa: E731
    lanes.wait(lambda: counted() == {"k0", "k1"}, 60, "the counts of both lanes come out")


@pytest.mark.thorough
def test_what_befalls_one_lane_is_not_seen_in_the_other(lanes: Lanes) -> None:
    lanes.when_all_ready()
    pod = lanes.publisher_of(0)
    since = len(lanes.reader.copies)
    lanes.kubectl("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force", timeout_s=90)
    lanes.flows_on(1_000)
    gaps = [lanes.longest_gap_of(number, since) for number in range(LANES)]
    print(f"{lanes.name}: longest gap of lane 0, whose owner was deleted, {gaps[0]:.2f} s, of lane 1 {gaps[1]:.2f} s")
    assert max(gaps) <= MASKED_S
    lanes.when_all_ready()
    lanes.check_counts_grow()


@pytest.mark.thorough
def test_a_change_goes_from_lane_to_lane(lanes: Lanes) -> None:
    lanes.when_all_ready()
    with lanes.output_goes_on(2 * MASKED_S):
        lanes.patch({"restartNonce": 1})

        def states() -> list[tuple[int | None, str]]:
            found = [lanes.lane(number) for number in range(LANES)]
            return [(one["spec"].get("restartNonce"), one["status"]["phase"]) for one in found]

        lanes.wait(lambda: [nonce for nonce, _ in states()] == [1, None], 60, "the first lane is changed first")
        lanes.wait(lambda: states() == [(1, "Running"), (1, "Upgrading")], 2 * START_S, "then the second")
        lanes.wait(lambda: states() == [(1, "Running")] * 2, 2 * START_S, "and then both are as they should be")


@pytest.mark.thorough
def test_a_job_goes_on_with_another_number_of_lanes(servers: Cluster, tandem: str) -> None:  # noqa: ARG001
    name = f"number-{uuid.uuid4().hex[:6]}"
    Topics(servers.connection).ensure(
        [NewTopic(f"{name}-in", 4), NewTopic(f"{name}-copies", 1), NewTopic(f"{name}-counts", 1)]
    )
    with own_namespace() as kubectl:
        spec = {"lanes": 4, "replicas": 1, "engine": "microBatch", **with_snapshots(kubectl)}
        kubectl.apply(*manifests(servers, name, **spec))
        job = Lanes(kubectl, servers, name, time.monotonic())
        try:
            job.wait(lambda: job.status.get("lanes") == "4/4", 2 * START_S, "4 lanes are ready")
            job.flows_on(100)
            job.patch({"lanes": 2})
            is_done = lambda: job.status.get("lanes") == "2/2" and "laneChange" not in job.status  # noqa: E731
            job.wait(is_done, 3 * START_S, "it has 2 lanes")
            job.flows_on(100)
            assert len(kubectl.list("rsj", f"tandem.dev/lanes-of={name}")) == 2
            job.patch({"lanes": 3})
            job.wait(lambda: job.condition("Progressing")[1] == "LanesNotChanged", START_S, "it cannot have 3")
            assert "no multiple of spec.lanes: 3" in job.condition("Progressing")[2]
            job.flows_on(100)
            job.patch({"lanes": 2})
            job.wait(lambda: "laneChange" not in job.status, 60, "it need not")
            job.check_copied_once()
            job.check_counts_grow()
        finally:
            job.close()


def send_by_key(feeder: Feeder, number: int) -> None:
    """To the partition in which the partitioner of a Kafka client puts the key: of one of 2 lanes each."""
    feeder.produce(str(number), ("even", "odd")[number % 2])


@pytest.mark.thorough
@pytest.mark.timeout(1500)
def test_a_job_of_one_lane_gets_two_and_has_one_again(
    servers: Cluster,
    tandem: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Feeder, "send", send_by_key)
    name = f"one-{uuid.uuid4().hex[:6]}"
    Topics(servers.connection).ensure(
        [NewTopic(f"{name}-in", 4), NewTopic(f"{name}-copies", 1), NewTopic(f"{name}-counts", 1)]
    )
    with own_namespace() as kubectl:
        spec = {"replicas": 2, "engine": "microBatch", **with_snapshots(kubectl)}
        kubectl.apply(*manifests(servers, name, **spec))
        job = Lanes(kubectl, servers, name, time.monotonic())
        lanes_of = f"tandem.dev/lanes-of={name}"
        try:
            job.wait(lambda: job.is_true("Replicated"), 2 * START_S, "both replicas are ready")
            job.flows_on(100)
            job.patch({"lanes": 2})
            has_two = lambda: job.status.get("lanes") == "2/2" and "laneChange" not in job.status  # noqa: E731
            job.wait(lambda: "laneChange" in job.status, 60, "the change begins")
            job.wait(lambda: job.status.get("laneChange", {}).get("stage") != "Checking", START_S, "it is checked")
            assert job.condition("Progressing")[1] == "LanesChange", job.condition("Progressing")
            job.wait(has_two, 3 * START_S, "it has 2 lanes")
            job.flows_on(100)
            assert {pod["metadata"]["labels"].get("tandem.dev/lane") for pod in kubectl.list("pods")} == {"0", "1"}
            job.patch({"lanes": 1})
            has_one = lambda: job.is_true("Replicated") and "lanes" not in job.status  # noqa: E731
            job.wait(has_one, 3 * START_S, "it has one lane again")
            assert kubectl.list("rsj", lanes_of) == []
            job.flows_on(100)
            job.check_copied_once()
            job.check_counts_grow()
        finally:
            job.close()


def test_the_lanes_go_with_the_whole(lanes: Lanes) -> None:
    lanes.when_all_ready()
    lanes.check_copied_once()
    lanes.kubectl("delete", "rsj", lanes.name)
    gone = f"tandem.dev/lanes-of={lanes.name}"
    lanes.wait(lambda: not lanes.kubectl.list("rsj", gone), 60, "the lanes' jobs are gone")
    lanes.wait(lambda: not lanes.kubectl.list("pods", gone), 120, "and their pods")
