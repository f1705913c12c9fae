"""How much of something a job may have on Kubernetes.

The API server works out what a rule would cost at worst, and refuses a CRD whose lists, maps and texts have no end. These
bounds are far above what a job needs; those that the models have already are tighter and stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tandem_operator.crd.cel import DURATION

LONGEST_TEXT: Final = 4_096
MOST_ENTRIES: Final = 64
MOST_ITEMS: Final = 16

ITEMS: Final[Mapping[tuple[str, ...], int]] = {("spec", "sources", "[]", "topics"): 32}
"""Lists that may be longer (or shorter) than `MOST_ITEMS`."""

TEXTS: Final[Mapping[tuple[str, ...], int]] = {
    ("spec", "sources", "[]", "schema"): 65_536,
    ("spec", "job", "options", "{}"): 16_384,
    ("spec", "spark", "conf", "{}"): 16_384,
    ("spec", "sinks", "[]", "parquet", "path"): 1_024,
    ("spec", "sinks", "[]", "delta", "path"): 1_024,
}
"""Texts that may be longer or shorter than `LONGEST_TEXT`."""

LONGEST_DURATION: Final = 20


def bounded(schema: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The schema at `path` with an end to its length."""
    kind = schema.get("type")
    if kind == "array":
        schema["maxItems"] = ITEMS.get(path, schema.get("maxItems", MOST_ITEMS))
    elif kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        schema["maxProperties"] = schema.get("maxProperties", MOST_ENTRIES)
    elif kind == "string" and "enum" not in schema and "format" not in schema:
        most = LONGEST_DURATION if schema.get("pattern") == DURATION else LONGEST_TEXT
        schema["maxLength"] = TEXTS.get(path, schema.get("maxLength", most))
    return schema
