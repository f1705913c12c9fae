"""Mistakes in sources that are tables."""

from __future__ import annotations

from unit.manifest.mistakes.mark import HERE, Mistake

_WEATHER = "topics: [weather]"
_TABLE = "topics: [weather]\n      table: {key: [key]}"
_SCHEMA = "schema: carrier STRING, dep_delay DOUBLE"

TABLES: dict[str, Mistake] = {
    "a table without a key": (
        _WEATHER, f"{_WEATHER}\n      table: {{}} {HERE}", "spec.sources[1].table.key", "is missing",
    ),
    "a key that is a text": (
        _WEATHER, f"{_WEATHER}\n      table: {{key: id}} {HERE}", "spec.sources[1].table.key", "Write [id]",
    ),
    "a key that is no column": (
        _SCHEMA, f"{_SCHEMA}\n      table: {{key: [id]}} {HERE}", "spec.sources[0].table.key[0]",
        "there is no column id: the table has carrier, dep_delay. Name one of these columns",
    ),
    "a key that raw records have not": (
        _WEATHER, f"{_WEATHER}\n      table: {{key: [id]}} {HERE}", "spec.sources[1].table.key[0]",
        "there is no column id: the table has key, value",
    ),
    "a table of no rows": (
        _WEATHER, f"{_WEATHER}\n      table: {{key: [key], maxRows: 0}} {HERE}", "spec.sources[1].table.maxRows", "1",
    ),
    "a table that begins at the end": (
        _WEATHER, f"{_TABLE}\n      startingOffsets: latest {HERE}", "spec.sources[1].startingOffsets",
        "lacks the rows that are there already",
    ),
    "a table that idles": (
        _WEATHER, f"{_TABLE}\n      idleTimeout: 30s {HERE}", "spec.sources[1].idleTimeout", "holds back no watermark",
    ),
    "a table with headers": (
        _WEATHER, f"{_TABLE}\n      includeHeaders: true {HERE}", "spec.sources[1].includeHeaders", "has no headers",
    ),
}  # fmt: skip
