"""The headless service by which a scraper finds a job's pods."""

from __future__ import annotations

from typing import Any

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.resources.manifest import METRICS_PORT, ORDERER_METRICS_PORT
from tandem_operator.resources.names import MANAGED_BY, MANAGER, metadata, selector


def metrics_service(job: ReplicatedStreamJob, uid: str) -> dict[str, Any]:
    """Every pod of the job, also while it is not ready: how far it is behind is of interest then."""
    ports = [("metrics", METRICS_PORT)]
    if job.spec.ordering.mode != "heartbeat":
        ports.append(("orderer-metrics", ORDERER_METRICS_PORT))
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(job, uid, _name(job.name)),
        "spec": {
            "clusterIP": "None",
            # By all addresses that the pods have; in a cluster of one family it changes nothing.
            "ipFamilyPolicy": "PreferDualStack",
            "publishNotReadyAddresses": True,
            # Not Spark's executors: they have no such ports.
            "selector": {**selector(job.name), MANAGED_BY: MANAGER},
            "ports": [{"name": name, "port": port, "targetPort": port, "protocol": "TCP"} for name, port in ports],
        },
    }


def _name(job: str) -> str:
    """A Service's name begins with a letter (DNS-1035), a job's may begin with a digit."""
    return f"{job}-metrics" if job[0].isalpha() else f"metrics-{job}"
