"""Trials of the rules about sources that are tables."""

from __future__ import annotations

from typing import Final

from cluster.crd_case import Case

_TABLE: Final = {"spec.sources.1.table": {"key": ["key"]}}
_BOTH: Final = {"spec.sources.0.table": {"key": ["carrier"]}, **_TABLE}

TABLES: Final = (
    Case("table-joins-a-stream", _TABLE, _BOTH, "all sources are tables"),
    Case(
        "table-is-read-from-its-beginning",
        {**_TABLE, "spec.sources.1.startingOffsets": "earliest"},
        {**_TABLE, "spec.sources.1.startingOffsets": "latest"},
        "lacks the rows that are there already",
    ),
    Case(
        "table-holds-back-nothing", _TABLE, {**_TABLE, "spec.sources.1.idleTimeout": "30s"}, "holds back no watermark"
    ),
    Case("table-has-no-headers", _TABLE, {**_TABLE, "spec.sources.1.includeHeaders": True}, "has no headers"),
    Case(
        "raw-table-has-its-key",
        {"spec.sources.1.table": {"key": ["key", "value"]}},
        {"spec.sources.1.table": {"key": ["id"]}},
        "has the columns key and value",
    ),
)
