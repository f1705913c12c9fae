"""A node loses its power under some of four lanes: lanes without a replica there notice nothing.

The gaps are printed (`-s`). Asserted: an owner's lane goes on at once, and a ratio to a quiet stretch of the same run.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Final

import pytest

from cluster.conftest import own_namespace, with_snapshots
from cluster.gaps import MASKED_S
from cluster.jobs import manifests
from cluster.lab import Lab
from cluster.laned import Lanes
from integration import traffic
from integration.waiting import for_a_while
from integration.workload import Cluster
from tandem.kafka.topics import NewTopic, Topics

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1500), pytest.mark.thorough]

LANES: Final = 4
UNNOTICED_S: Final = 6.0
"""So long Kubernetes has not noticed it, and starts nothing."""
_QUIET_S: Final = 20.0


@pytest.fixture
def job(servers: Cluster, tandem: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lanes]:  # noqa: ARG001
    """Four lanes of two replicas on three nodes, each with a partition of the input, and with state."""
    monkeypatch.setattr(traffic, "PARTITIONS", LANES)
    name = f"dark-{uuid.uuid4().hex[:6]}"
    made = [NewTopic(f"{name}-in", LANES), NewTopic(f"{name}-copies", 1), NewTopic(f"{name}-counts", 1)]
    Topics(servers.connection).ensure(made)
    with own_namespace() as kubectl:
        kubectl.apply(*manifests(servers, name, lanes=LANES, **with_snapshots(kubectl)))
        job = Lanes(kubectl, servers, name, time.monotonic(), LANES)
        try:
            job.when_all_ready()
            yield job
        finally:
            job.close()


def gaps(job: Lanes, start: float, end: float) -> list[float]:
    """The longest gap of each lane, s."""
    return [job.longest_gap_between(lane, start, end) for lane in range(LANES)]


def test_only_lanes_with_a_replica_on_a_node_notice_that_it_lost_its_power(job: Lanes, lab: Lab) -> None:
    began = time.monotonic()
    for_a_while(_QUIET_S, "nothing happens")
    quiet = max(gaps(job, began, time.monotonic()))
    nodes = [{pod["spec"]["nodeName"] for pod in job.pods_of(lane)} for lane in range(LANES)]
    owners = [job.publisher_of(lane)["spec"]["nodeName"] for lane in range(LANES)]
    struck = max(set(owners), key=owners.count)
    apart = [lane for lane in range(LANES) if struck not in nodes[lane]]
    assert apart, f"the lanes are spread unevenly: {nodes}"
    try:
        began = time.monotonic()
        lab.kill(struck)
        for_a_while(UNNOTICED_S, "Kubernetes has not noticed yet")
        seen = gaps(job, began, time.monotonic())
        for lane, gap in enumerate(seen):
            has = "its owner" if owners[lane] == struck else "a replica" if lane not in apart else "nothing"
            print(f"lane {lane} had {has} there: {gap * 1000:.0f} ms; of all lanes before: {quiet * 1000:.0f} ms")
        assert max(seen) <= MASKED_S
        assert max(seen[lane] for lane in apart) <= 2 * quiet
    finally:
        lab.up(struck)
    job.when_all_ready()
    job.check_copied_once()
    job.check_counts_grow()
