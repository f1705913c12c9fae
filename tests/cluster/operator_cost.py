"""What the operator takes to look after jobs in which nothing changes: memory, time and requests of a pass."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from cluster.installed import OPERATOR
from cluster.kubernetes import Kubectl
from cluster.light import OWNED
from tandem_operator.resources.names import MANAGED_BY, MANAGER

_PASSES: Final = "tandem_operator_reconcile_total"
_SECONDS: Final = "tandem_operator_reconcile_seconds"
_CPU: Final = "process_cpu_seconds_total"
_REQUESTS: Final = "tandem_operator_api_requests_total"


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a pass, on average: `cpu_ms` of processor, and `pass_ms` from its beginning to its end, which is longer while
    several share a core; `failures` of passes. Of the operator: `memory` in bytes. `requests_s`: requests/s for each job.

    `changed`: what somebody has written meanwhile, as kind and name → resource version.
    """

    memory: int
    cpu_ms: float
    pass_ms: float
    requests_s: float
    failures: float
    changed: dict[tuple[str, str], str]
    objects: int

    def __str__(self) -> str:
        times = f"{self.cpu_ms:.1f} ms of processor in {self.pass_ms:.1f} ms"
        figures = f"{self.memory / 2**20:.0f} MiB, {times} a pass, {self.requests_s:.3f} requests/s a job"
        return f"{self.objects} objects: {figures}"


def measured(kubectl: Kubectl, tandem: str, passes: int) -> Cost:
    """While the operator makes so many passes over the jobs of a namespace, which are all that it looks after.

    Before that, Kubernetes has written what it has to say of their pods.
    """
    jobs = len(kubectl.list("rsj"))
    kubectl.wait(lambda: not _written(kubectl, tandem, 3 * jobs), 900, "nothing is written any more")
    before, began_s = _metrics(tandem), time.monotonic()
    changed = _written(kubectl, tandem, passes * jobs)
    now, took_s = _metrics(tandem), time.monotonic() - began_s
    spent, cpu, count, requests, failures = (
        now.get(name, 0.0) - before.get(name, 0.0)
        for name in (f"{_SECONDS}_sum", _CPU, f"{_SECONDS}_count", _REQUESTS, f"{_PASSES}failure")
    )
    memory, objects = int(now["process_resident_memory_bytes"]), len(_versions(kubectl))
    requests_s = requests / took_s / jobs
    return Cost(memory, cpu / count * 1_000, spent / count * 1_000, requests_s, failures, changed, objects)


def _metrics(tandem: str) -> dict[str, float]:
    """The operator's samples without labels, those of its passes by result, and its requests together."""
    (pod,) = Kubectl(tandem).list("pods", OPERATOR)
    path = f"/api/v1/namespaces/{tandem}/pods/{pod['metadata']['name']}:9090/proxy/metrics"
    text = Kubectl(tandem)("get", "--raw", path)
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    found = {sample.name + sample.labels.get("result", ""): sample.value for sample in samples}
    return {**found, _REQUESTS: sum(sample.value for sample in samples if sample.name == _REQUESTS)}


def _versions(kubectl: Kubectl) -> dict[tuple[str, str], str]:
    """The jobs, and all that the operator has made: kind and name → resource version."""
    things = [*kubectl.list("rsj"), *kubectl.list(OWNED, f"{MANAGED_BY}={MANAGER}")]
    return {(one["kind"], one["metadata"]["name"]): one["metadata"]["resourceVersion"] for one in things}


def _written(kubectl: Kubectl, tandem: str, passes: int) -> dict[tuple[str, str], str]:
    """What somebody has made, written or deleted while the operator made so many passes."""
    before, seen = _versions(kubectl), _metrics(tandem)[f"{_PASSES}success"]
    kubectl.wait(lambda: _metrics(tandem)[f"{_PASSES}success"] >= seen + passes, 600, f"{passes} passes")
    return dict(_versions(kubectl).items() ^ before.items())
