"""Many lanes: what a lane costs the operator does not grow with their number, nor with that of the jobs.

Their pods run on fake nodes, which need kube-lab.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from cluster.conftest import own_namespace, when_deleted
from cluster.fake_nodes import ON_FAKE_NODES, fake_nodes
from cluster.kubernetes import Kubectl, holds
from cluster.light import LightJob
from cluster.operator_cost import Cost, measured

pytestmark = [pytest.mark.cluster, pytest.mark.thorough, pytest.mark.timeout(2400)]

NODES: Final = 10
"""Of 110 pods each."""

MOST_BYTES: Final = 250 * 1024 * 1024
MOST_REQUESTS_S: Final = 0.2
"""Of a lane: it is asked for with its pods each 30 s, as these pods answer nobody, and eight kinds each 300 s."""
PASSES: Final = 3
QUIET: Final = {"spec.progressDeadlineSeconds": 3600, "spec.podTemplate": ON_FAKE_NODES}
"""The deadline as in test_scale."""


@pytest.fixture(autouse=True)
def nodes() -> Iterator[None]:
    with fake_nodes(NODES):
        yield
        when_deleted()


def cost_of(tandem: str, jobs: int, lanes: int) -> Cost:
    """Of so many jobs with so many lanes each."""

    def are_ready(kubectl: Kubectl) -> bool:
        pods = kubectl.list("pods", "app.kubernetes.io/component=member")
        return sum(holds(pod, "Ready") for pod in pods) == 2 * jobs * lanes

    with own_namespace() as kubectl:
        kubectl.apply(
            *(LightJob(kubectl, f"job-{index}").changed({**QUIET, "spec.lanes": lanes}) for index in range(jobs))
        )
        kubectl.wait(lambda: are_ready(kubectl), 900, f"the pods of {jobs} jobs of {lanes} lanes are ready")
        cost = measured(kubectl, tandem, PASSES)
        kubectl("delete", "rsj", "--all", "--wait=false")
        kubectl.wait(lambda: not kubectl.list("rsj"), 300, "all jobs are gone")
    print(f"{jobs} jobs of {lanes} lanes, {cost}")
    assert not cost.changed, "a pass over an unchanged job wrote something"
    assert not cost.failures
    return cost


def test_a_lane_costs_the_same_however_many_there_are(tandem: str) -> None:
    few = cost_of(tandem, 1, 32)
    for cost in (few, cost_of(tandem, 1, 256), cost_of(tandem, 50, 8)):
        assert cost.cpu_ms <= 2 * few.cpu_ms + 1
        assert cost.requests_s <= MOST_REQUESTS_S
        assert cost.memory <= MOST_BYTES
