"""A good ReplicatedStreamJob, and manifests made from it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

Overrides = Mapping[str, Any]
"""`spec.sources.0.format` → value; `ABSENT` takes the key away. A map whose keys have dots is given as a whole."""

ABSENT: Final = object()

_BASE: Final[dict[str, Any]] = {
    "apiVersion": "tandem.dev/v1alpha1",
    "kind": "ReplicatedStreamJob",
    "metadata": {"name": "flights"},
    "spec": {
        "job": {"file": "job.py", "function": "flights"},
        "suspend": True,
        "replicas": 2,
        "kafka": {"bootstrapServers": "kafka:9092"},
        "zookeeper": {"connect": "zookeeper:2181"},
        "sources": [
            {"name": "flights", "topics": ["flights"], "format": "json", "schema": "carrier STRING, delay DOUBLE"},
            {"name": "weather", "topics": ["weather"]},
        ],
        "sinks": [{"name": "delays", "topic": "delays"}, {"name": "archive", "parquet": {"path": "/data/out"}}],
    },
}


def manifest(*overrides: Overrides) -> dict[str, Any]:
    """The good manifest with some values replaced; the job is suspended, so that nothing starts."""
    tree = copy.deepcopy(_BASE)
    for dotted, value in (item for each in overrides for item in each.items()):
        _put(tree, dotted.split("."), value)
    return tree


def _put(tree: Any, parts: list[str], value: Any) -> None:
    *way, last = parts
    for part in way:
        tree = tree.setdefault(part, {}) if isinstance(tree, dict) else tree[int(part)]
    if value is ABSENT:
        del tree[last]
    else:
        tree[int(last) if isinstance(tree, list) else last] = copy.deepcopy(value)
