"""Many jobs at once: the operator stays small, is quick, and leaves alone what is as it should be."""

from __future__ import annotations

import json
from typing import Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cluster.installed import OPERATOR
from cluster.jobs import manifests
from cluster.kubernetes import Kubectl
from integration.workload import Cluster

pytestmark = [pytest.mark.cluster, pytest.mark.thorough, pytest.mark.timeout(600)]

JOBS: Final = 200
MOST_BYTES: Final = 150 * 1024 * 1024


def operator_metrics(tandem: str) -> dict[str, float]:
    """The operator's samples without labels, and those of its passes by result."""
    (pod,) = Kubectl(tandem).list("pods", OPERATOR)
    path = f"/api/v1/namespaces/{tandem}/pods/{pod['metadata']['name']}:9090/proxy/metrics"
    text = Kubectl(tandem)("get", "--raw", path)
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {sample.name + sample.labels.get("result", ""): sample.value for sample in samples}


def test_two_hundred_jobs_are_looked_after_without_a_write_while_nothing_changes(
    kubectl: Kubectl, servers: Cluster, tandem: str
) -> None:
    made = [manifests(servers, f"job-{index}", suspend=True) for index in range(JOBS)]
    kubectl.apply(*(thing for pair in made for thing in pair))

    def versions() -> dict[str, str]:
        jobs = json.loads(kubectl("get", "rsj", "-o", "json"))["items"]
        return {
            job["metadata"]["name"]: job["metadata"]["resourceVersion"]
            for job in jobs
            if job.get("status", {}).get("phase") == "Suspended"
        }

    kubectl.wait(lambda: len(versions()) == JOBS, 180, f"{JOBS} jobs are seen to be suspended")
    before, seen = versions(), operator_metrics(tandem)
    passes = seen["tandem_operator_reconcile_totalsuccess"]

    def after_three_rounds() -> bool:
        return operator_metrics(tandem)["tandem_operator_reconcile_totalsuccess"] >= passes + 3 * JOBS

    kubectl.wait(after_three_rounds, 120, "three passes over each job")
    now = operator_metrics(tandem)
    spent = now["tandem_operator_reconcile_seconds_sum"] - seen["tandem_operator_reconcile_seconds_sum"]
    count = now["tandem_operator_reconcile_seconds_count"] - seen["tandem_operator_reconcile_seconds_count"]
    memory = now["process_resident_memory_bytes"]
    print(f"{JOBS} jobs: {memory / 2**20:.0f} MiB, {spent / count * 1000:.1f} ms a pass")
    assert versions() == before, "a pass over an unchanged job wrote something"
    assert now.get("tandem_operator_reconcile_totalfailure", 0.0) == seen.get(
        "tandem_operator_reconcile_totalfailure", 0.0
    )
    assert memory <= MOST_BYTES
