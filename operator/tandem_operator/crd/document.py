"""The CustomResourceDefinition itself."""

from __future__ import annotations

from typing import Any, Final

from tandem.manifest import API_VERSION, KIND
from tandem_operator.crd.schema import crd_schema

GROUP, VERSION = API_VERSION.split("/")
PLURAL: Final = "replicatedstreamjobs"

COLUMNS: Final = (
    ("Lanes", "string", ".status.lanes", "Lanes that are ready, and all"),
    ("Active", "string", ".status.active", "Active replicas that are ready, and asked for"),
    ("Standby", "string", ".status.standby", "Standbys that are fresh, and asked for"),
    ("Mode", "string", ".spec.ordering.mode", "Who orders"),
    ("Leader", "string", ".status.leader", "The orderer that cuts the epochs"),
    ("Epoch", "integer", ".status.epoch", "The last published epoch"),
    ("Lag", "integer", ".status.lag", "Records that no replica has computed yet"),
    ("Phase", "string", ".status.phase", "The job in one word"),
    ("Age", "date", ".metadata.creationTimestamp", "Since when the job is there"),
)
"""What `kubectl get rsj` shows: name, type, path, description."""


def crd() -> dict[str, Any]:
    """The CustomResourceDefinition of ReplicatedStreamJob, as the API server takes it."""
    names = {
        "kind": KIND,
        "listKind": f"{KIND}List",
        "plural": PLURAL,
        "singular": KIND.lower(),
        "shortNames": ["rsj"],
        "categories": ["all", "tandem"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {"group": GROUP, "names": names, "scope": "Namespaced", "versions": [_version()]},
    }


def _version() -> dict[str, Any]:
    columns = [
        {"name": name, "type": kind, "jsonPath": path, "description": description}
        for name, kind, path, description in COLUMNS
    ]
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": columns,
        "subresources": {"status": {}, "scale": scale},
        "schema": {"openAPIV3Schema": crd_schema()},
    }
