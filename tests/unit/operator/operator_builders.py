"""Jobs for the tests of the operator."""

from __future__ import annotations

from typing import Any

from tandem.manifest import ReplicatedStreamJob, parse
from tandem_operator.resources import Settings

SETTINGS = Settings(image="example.com/tandem:1")
UID = "0d1e"


def tree(**spec: Any) -> dict[str, Any]:
    """A good manifest; `spec`: what of its spec is otherwise."""
    return {
        "apiVersion": "tandem.dev/v1alpha1",
        "kind": "ReplicatedStreamJob",
        "metadata": {"name": "flights", "namespace": "streaming"},
        "spec": {
            "job": {"file": "job.py"},
            "kafka": {"bootstrapServers": "kafka:9092"},
            "zookeeper": {"connect": "zookeeper:2181"},
            "sources": [{"name": "flights", "topics": ["flights"]}],
            "sinks": [{"name": "delays", "topic": "delays"}],
            **spec,
        },
    }


def job(**spec: Any) -> ReplicatedStreamJob:
    """A checked job."""
    return parse(tree(**spec))
