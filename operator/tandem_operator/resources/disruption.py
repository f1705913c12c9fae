"""How many of a job's pods may be evicted at a time: one."""

from __future__ import annotations

from typing import Any

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.observed import Component
from tandem_operator.resources.names import metadata, selector


def disruption_budgets(job: ReplicatedStreamJob, uid: str) -> list[dict[str, Any]]:
    """A budget for the members, one for the generators if the job has any, and one for the next generation if it can have.

    For from its boundary on the candidates alone publish, until the members have followed.
    """
    spec = job.spec
    budgets = [_budget(job, uid, job.name, Component.MEMBER, spec.replicas + spec.standbys)]
    if spec.ordering.mode == "heartbeat":
        budgets.append(_budget(job, uid, f"{job.name}-generators", Component.GENERATOR, spec.ordering.generators))
    if spec.snapshots is not None:
        budgets.append(_budget(job, uid, f"{job.name}-candidates", Component.CANDIDATE, spec.replicas))
    return budgets


def _budget(job: ReplicatedStreamJob, uid: str, name: str, component: Component, count: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(job, uid, name),
        "spec": {
            # Not maxUnavailable: 1. Kubernetes would count how many pods there should be from the job's scale, which
            # leaves out standbys and generators, and so allow more than one at a time.
            "minAvailable": count - 1,
            "selector": {"matchLabels": selector(job.name, component.value)},
            # One that is not at the head protects nobody: its node may be drained.
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }
