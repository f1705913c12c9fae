"""Events, and a table of rules that they are joined with, over a bridge."""

from __future__ import annotations

from integration.engine import Record, as_json
from tandem.manifest import SourceSpec
from tandem.manifest.streams import TableSpec

EVENTS = SourceSpec(name="events", topics=("in",), format="json", schema="id INT, v STRING")
RULES = SourceSpec(
    name="rules",
    topics=("rules",),
    format="json",
    schema="id INT, name STRING, at TIMESTAMP",
    table=TableSpec(key=("id",)),
)


def rule(number: int, name: str, key: bytes | None = None) -> Record:
    """A row of the table; `key`: of its record, the number by default."""
    record_key = str(number).encode() if key is None else key
    return Record(as_json(id=number, name=name, at="2024-06-01T10:00:00Z"), record_key, "rules")
