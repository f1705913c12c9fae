"""The manifest of a workload. Pure, but for `write`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.workloads.base import Engine, Workload

SINK = "out"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a workload runs: the servers, the job's name, which its topics begin with, and a folder for state."""

    name: str
    bootstrap: str = "localhost:9092"
    zookeeper: str = "localhost:2181"
    memory: Path = Path("checkpoint")

    def topic(self, source: str) -> str:
        """Of a source, or of the sink."""
        return f"{self.name}-{source}"


def manifest(workload: Workload, engine: Engine, place: Place, replicas: int = 2, lanes: int = 1) -> dict[str, Any]:
    """The whole tree."""
    spec: dict[str, Any] = {
        "job": {
            "module": workload.job.__module__,
            "function": workload.job.__name__,
            "options": dict(workload.options),
        },
        "engine": engine,
        "replicas": replicas,
        "lanes": lanes,
        "kafka": {"bootstrapServers": place.bootstrap},
        "zookeeper": {"connect": place.zookeeper},
        "sources": [{"name": feed.source, "topics": [place.topic(feed.source)]} for feed in workload.feeds],
        "sinks": [{"name": SINK, "topic": place.topic(SINK)}],
        "ordering": {"mode": "leader"},
        "checkpoint": {"directory": str(place.memory)},
    }
    return {
        "apiVersion": "tandem.dev/v1alpha1",
        "kind": "ReplicatedStreamJob",
        "metadata": {"name": place.name},
        "spec": with_more(spec, workload.spec),
    }


def write(path: Path, tree: Mapping[str, Any]) -> Path:
    """Write a manifest, and return its path."""
    path.write_text(json.dumps(tree, indent=1))  # JSON is YAML
    return path


def with_more(tree: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """A tree with what another has beside, or in the place of its own."""
    found = dict(tree)
    for name, value in more.items():
        inner = found.get(name)
        found[name] = with_more(inner, value) if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return found
