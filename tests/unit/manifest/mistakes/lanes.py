"""Mistakes about lanes, and what partitions follow."""

from __future__ import annotations

from unit.manifest.mistakes.mark import HERE, Mistake

_WEATHER = "topics: [weather]"
_SCHEMA = "schema: carrier STRING, dep_delay DOUBLE"

LANES: dict[str, Mistake] = {
    "no lanes": ("replicas: 2", f"replicas: 2\n  lanes: 0 {HERE}", "spec.lanes", "1"),
    "lanes that would write one Delta table": (
        "parquet:\n        path: /data/out", f"delta: {HERE}\n        path: /data/out\n  lanes: 2", "spec.sinks[1].delta",
        "get in each other's way. Use a topic, parquet or postgres sink",
    ),
    "a table by lanes": (
        "path: /data/out", f"path: /data/out\n      partitionBy: lane {HERE}", "spec.sinks[1].partitionBy",
        "only a topic has partitions. Remove partitionBy",
    ),
    "partitions that follow a column that is not there": (
        _SCHEMA, f"{_SCHEMA}\n      partitionedBy: city {HERE}", "spec.sources[0].partitionedBy",
        "there is no column city: the source has carrier, dep_delay. Name one of these columns, key or any",
    ),
    "partitions of records without columns that follow one": (
        _WEATHER, f"{_WEATHER}\n      partitionedBy: city {HERE}", "spec.sources[1].partitionedBy",
        "there is no column city: the source has value. Name one of these columns, key or any",
    ),
    "a table whose partitions follow something": (
        _WEATHER, f"{_WEATHER}\n      table: {{key: [key]}}\n      partitionedBy: any {HERE}",
        "spec.sources[1].partitionedBy", "every lane has all rows of a table",
    ),
}  # fmt: skip
