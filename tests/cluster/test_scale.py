"""Many jobs at once: the operator stays small, is quick, and leaves alone what is as it should be."""

from __future__ import annotations

from typing import Final

import pytest

from cluster.installed import no_operator
from cluster.kubernetes import Kubectl, Object
from cluster.light import LightJob
from cluster.operator_cost import measured

pytestmark = [pytest.mark.cluster, pytest.mark.thorough, pytest.mark.timeout(1200)]

JOBS: Final = 200
MOST_BYTES: Final = 150 * 1024 * 1024
ASKED: Final = {"spec.progressDeadlineSeconds": 3600}
"""Longer than this takes: then the status tells that a pod is late, which is a write."""


def is_seen(job: Object, suspended: bool) -> bool:
    """Whether the status of a job tells that it is suspended, or of both its pods."""
    status = job.get("status", {})
    if suspended:
        return bool(status.get("phase") == "Suspended")
    return len([row for row in status.get("members", ()) if row.get("pod")]) == 2


@pytest.mark.parametrize(
    ("suspended", "passes"), [(True, 3), (False, 15)], ids=["suspended", "with pods that find no node"]
)
def test_two_hundred_jobs_are_looked_after_without_a_write_while_nothing_changes(
    kubectl: Kubectl, tandem: str, suspended: bool, passes: int
) -> None:
    """By an operator that has just started. It looks at jobs whose pods wait every two seconds, at others every ten."""
    with no_operator(tandem):
        made = (
            LightJob(kubectl, f"job-{index}").changed({**ASKED, "spec.suspend": suspended}) for index in range(JOBS)
        )
        kubectl.apply(*made)

    def all_seen() -> bool:
        return sum(is_seen(job, suspended) for job in kubectl.list("rsj")) == JOBS

    kubectl.wait(all_seen, 400, f"{JOBS} jobs are looked after")
    cost = measured(kubectl, tandem, passes)
    print(f"{JOBS} jobs, {cost}")
    assert not cost.changed, "a pass over an unchanged job wrote something"
    assert not cost.failures
    assert cost.memory <= MOST_BYTES
    assert cost.objects == JOBS * (6 if suspended else 8)
