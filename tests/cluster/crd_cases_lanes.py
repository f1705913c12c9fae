"""Trials of the rules about lanes, and what the partitions of sources follow."""

from __future__ import annotations

from typing import Final

from cluster.crd_case import Case

_DELTA: Final = {"spec.sinks.1": {"name": "archive", "delta": {"path": "/data/out"}}}
_LONG: Final = "a" * 35

LANES: Final = (
    Case(
        "lanes-write-side-by-side",
        {"spec.lanes": 2},
        {"spec.lanes": 2, **_DELTA},
        "lanes cannot share a delta, iceberg or foreachBatch sink",
    ),
    Case(
        "partitions-are-of-a-topic",
        {"spec.sinks.0.partitionBy": "lane"},
        {"spec.sinks.1.partitionBy": "lane"},
        "only a topic has partitions",
    ),
    Case(
        "lanes-have-short-names",
        {"spec.lanes": 2, "metadata.name": _LONG[:34]},
        {"spec.lanes": 2, "metadata.name": _LONG},
        "a job with lanes has a name of at most",
    ),
    Case(
        "lane-is-there",
        {"spec.lanes": 2, "spec.laneOf": {"job": "orders", "lane": 1}},
        {"spec.lanes": 2, "spec.laneOf": {"job": "orders", "lane": 2}},
        "there is no such lane",
    ),
    Case(
        "table-follows-no-column",
        {"spec.sources.1.table": {"key": ["key"]}},
        {"spec.sources.1.table": {"key": ["key"]}, "spec.sources.1.partitionedBy": "any"},
        "every lane has all rows of a table",
    ),
    Case(
        "raw-follows-key-or-value",
        {"spec.sources.1.partitionedBy": "any"},
        {"spec.sources.1.partitionedBy": "city"},
        "no other column than value",
    ),
    Case(
        "lanes-stay",
        {"spec.lanes": 2, "spec.replicas": 3},
        {"spec.lanes": 4},
        "the number of lanes changes only where the job has snapshots",
        old={"spec.lanes": 2},
    ),
    Case(
        "lanes-stay",
        {"spec.lanes": 1, "spec.suspend": True, "spec.snapshots.store": "/old"},
        {"spec.lanes": 1, "spec.suspend": True},
        "the number of lanes changes only where the job has snapshots",
        old={"spec.lanes": 2, "spec.suspend": True, "spec.snapshots.store": "/old"},
    ),
    Case(
        "lanes-stay",
        {"spec.lanes": 4, "spec.snapshots.store": "/old"},
        {"spec.lanes": 4},
        "the number of lanes changes only where the job has snapshots",
        old={"spec.lanes": 1, "spec.snapshots.store": "/old"},
    ),
)
