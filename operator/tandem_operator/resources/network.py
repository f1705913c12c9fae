"""Who may connect to a job's pods."""

from __future__ import annotations

from typing import Any

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.resources.manifest import METRICS_PORT, ORDERER_METRICS_PORT
from tandem_operator.resources.names import SCRAPES, metadata, selector
from tandem_operator.resources.settings import Settings


def network_policy(job: ReplicatedStreamJob, uid: str, settings: Settings) -> dict[str, Any]:
    """In: to the metrics, the operator and scrapers; to everything, the job's own pods (drivers and executors). Out: all."""
    scrapers = [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": settings.operator_namespace}}},
        {"namespaceSelector": {}, "podSelector": {"matchLabels": {SCRAPES: "true"}}},
    ]
    ports = [{"protocol": "TCP", "port": port} for port in (METRICS_PORT, ORDERER_METRICS_PORT)]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(job, uid, job.name),
        "spec": {
            "podSelector": {"matchLabels": selector(job.name)},
            # Not Egress: brokers, ZooKeeper, object stores, and what the job itself calls, may be anywhere, also outside
            # of the cluster; a rule that is wrong about one of them would stop the job.
            "policyTypes": ["Ingress"],
            "ingress": [
                {"from": scrapers, "ports": ports},
                {"from": [{"podSelector": {"matchLabels": selector(job.name)}}]},
            ],
        },
    }
