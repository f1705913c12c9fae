"""Jobs that begin a generation: their specs, and a cluster in which one runs."""

from __future__ import annotations

from typing import Any

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.observed import Component
from unit.operator.operator_builders import job
from unit.operator.tiny_cluster import TinyCluster
from unit.operator.tiny_pods import Pod

SNAPSHOTS = {"store": "s3://b/x"}
CHANGED = {"file": "job.py", "options": {"late": "5"}}
SIZES = [{"replicas": 2}, {"replicas": 1}, {"replicas": 2, "standbys": 1}, {"replicas": 1, "standbys": 1}]
EDITED, OTHER = ({"file": "job.py", "options": {"late": name}} for name in "AB")
EDITS: dict[str, dict[str, Any]] = {
    "another nonce": {"job": EDITED, "restartNonce": 1},
    "another image": {"job": EDITED, "image": "example.com/new:2"},
    "another option": {"job": OTHER},
    "back": {},
}


def given(**spec: Any) -> ReplicatedStreamJob:
    return job(**{"replicas": 2, "snapshots": SNAPSHOTS, **spec})


def running(**spec: Any) -> TinyCluster:
    cluster = TinyCluster(given(**spec))
    cluster.converge()
    return cluster


def of(cluster: TinyCluster, component: Component) -> list[Pod]:
    return [pod for pod in cluster.pods.values() if pod.component is component]
