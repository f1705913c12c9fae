"""Records of the rules example, as tests write them, and a book that keeps what it keeps in dicts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from tandem.examples.rules.book import RESULTS, Book, Control, Event, Held, Of, Place, Row, Settings

VARIABLES = (
    ("customer", "string"),
    ("time", "timestamp"),
    ("audience", "string"),
    ("size", "int"),
    ("share", "double"),
    ("open", "bool"),
    ("type", "string"),
)
K = TypeVar("K")
V = TypeVar("V")


class InDict(Generic[K, V]):
    """Keeps things in a dict."""

    def __init__(self) -> None:
        self.content: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        return self.content.get(key)

    def put(self, key: K, value: V) -> None:
        self.content[key] = value

    def remove(self, key: K) -> None:
        del self.content[key]

    def items(self) -> Iterable[tuple[K, V]]:
        return list(self.content.items())


class Epochs:
    """A book, epoch by epoch."""

    def __init__(self, **settings: Any) -> None:
        self.rules: InDict[str, Held] = InDict()
        self.totals: InDict[Of, str] = InDict()
        self.book = Book(self.rules, self.totals, Settings(**{"variables": VARIABLES, **settings}))
        self.epoch = -1

    def run(self, *records: Control | Event) -> list[Row]:
        self.epoch += 1
        controls = [one for one in records if isinstance(one, Control)]
        return list(self.book.epoch(self.epoch, controls, [one for one in records if isinstance(one, Event)]))


def rule_json(**fields: Any) -> bytes:
    return json.dumps({"id": "r", "scope": "all", "when": "true", "aggregation": "count", **fields}).encode()


def rule(offset: int = 0, **fields: Any) -> Control:
    value = rule_json(**fields)
    return Control(json.loads(value)["id"].encode(), value, Place("control", "rules", 0, offset, 0))


def removed(id_: str = "r") -> Control:
    return Control(id_.encode(), None, Place("control", "rules", 0, 7, 0))


def event(customer: str | None = "c", second: float | None = 0, offset: int = 0, **columns: Any) -> Event:
    time_us = None if second is None else round(second * 1e6)
    found = {**dict.fromkeys(name for name, _ in VARIABLES), "customer": customer, "time": time_us, **columns}
    return Event(found, Place("events", "in", 0, offset, 1_000))


def values_of(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """The values of rows; of a tombstone its key."""
    return [{"gone": row.key} if row.value is None else json.loads(row.value) for row in rows]


def totals(rows: Iterable[Row]) -> dict[str, Any]:
    """Key → the number that a rule has come to, of results."""
    return {
        row.key or "": list(json.loads(row.value).values())[-1] for row in rows if row.sink == RESULTS and row.value
    }
