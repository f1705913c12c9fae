"""Many jobs at once: the operator stays small, is quick, and leaves alone what is as it should be."""

from __future__ import annotations

from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cluster.installed import OPERATOR, no_operator
from cluster.kubernetes import Kubectl, Object
from cluster.light import OWNED, LightJob
from tandem_operator.resources.names import MANAGED_BY, MANAGER

pytestmark = [pytest.mark.cluster, pytest.mark.thorough, pytest.mark.timeout(1200)]

JOBS: Final = 200
MOST_BYTES: Final = 150 * 1024 * 1024
ASKED: Final = {"spec.progressDeadlineSeconds": 3600}
"""Longer than this takes: then the status tells that a pod is late, which is a write."""
PASSES: Final = "tandem_operator_reconcile_total"
SECONDS: Final = "tandem_operator_reconcile_seconds"


def operator_metrics(tandem: str) -> dict[str, float]:
    """The operator's samples without labels, and those of its passes by result."""
    (pod,) = Kubectl(tandem).list("pods", OPERATOR)
    path = f"/api/v1/namespaces/{tandem}/pods/{pod['metadata']['name']}:9090/proxy/metrics"
    text = Kubectl(tandem)("get", "--raw", path)
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {sample.name + sample.labels.get("result", ""): sample.value for sample in samples}


def is_seen(job: Object, suspended: bool) -> bool:
    """Whether the status of a job tells that it is suspended, or of both its pods."""
    status = job.get("status", {})
    if suspended:
        return bool(status.get("phase") == "Suspended")
    return len([row for row in status.get("members", ()) if row.get("pod")]) == 2


def versions(kubectl: Kubectl) -> dict[tuple[str, str], str]:
    """The jobs, and all that the operator has made: kind and name → resource version."""
    things = [*kubectl.list("rsj"), *kubectl.list(OWNED, f"{MANAGED_BY}={MANAGER}")]
    return {(one["kind"], one["metadata"]["name"]): one["metadata"]["resourceVersion"] for one in things}


def written(kubectl: Kubectl, tandem: str, passes: int) -> dict[tuple[str, str], str]:
    """What somebody has written while the operator looked at each job so many times."""
    before, seen = versions(kubectl), operator_metrics(tandem)[f"{PASSES}success"]
    kubectl.wait(lambda: operator_metrics(tandem)[f"{PASSES}success"] >= seen + passes * JOBS, 180, f"{passes} passes")
    now = versions(kubectl)
    assert now.keys() == before.keys()
    return dict(now.items() - before.items())


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
    kubectl.wait(lambda: not written(kubectl, tandem, 3), 180, "Kubernetes has written what it has to say of them")

    before = operator_metrics(tandem)
    changed = written(kubectl, tandem, passes)
    now = operator_metrics(tandem)
    spent, count = (now[f"{SECONDS}_{what}"] - before[f"{SECONDS}_{what}"] for what in ("sum", "count"))
    memory, objects = now["process_resident_memory_bytes"], len(versions(kubectl))
    print(f"{JOBS} jobs, {objects} objects: {memory / 2**20:.0f} MiB, {spent / count * 1000:.1f} ms a pass")
    assert not changed, "a pass over an unchanged job wrote something"
    assert now[f"{PASSES}failure"] == before[f"{PASSES}failure"]
    assert memory <= MOST_BYTES
    assert objects == JOBS * (6 if suspended else 8)
