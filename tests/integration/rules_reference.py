"""What plain Python counts by the generator's rules and some more: one walk over the epochs, without CEL and Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tandem.examples.rules.feed import SHARED, WHEN

Control = tuple[str | None, Mapping[str, Any] | str | None]
"""Key and value of a record of the control topic; text is no rule."""
Given = Mapping[str, Any]
"""An event."""


def shared(id_: str = SHARED, **fields: Any) -> Control:
    """A rule of the generator's, or one like it."""
    return id_, {"id": id_, "scope": "all", "when": WHEN, "aggregation": "count", **fields}


MATCHES: Mapping[str, Callable[[Given], Any]] = {
    WHEN: lambda event: event["audience"] == "public",
    "event.audience == 'domain'": lambda event: event["audience"] == "domain",
    "true": lambda _: True,
    "1 / event.size > 2": lambda _: False,
    "1 / (event.size % 2) == 1": lambda event: event["size"] % 2,
}
"""Expression → what it says of an event, False where it has no answer; one that is not here is no rule."""


@dataclass
class Reference:
    """`holds` : id → the customer it is for (None: all), which events match, and the epoch in which it came."""

    holds: dict[str, tuple[str | None, Callable[[Given], Any], int]] = field(default_factory=dict)
    counts: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))

    def epoch(self, number: int, controls: Sequence[Control], events: Sequence[Given]) -> set[str]:
        """The rows of the sink `results`, each once, as text."""
        rows = [f"{key}: gone" for control in controls for key in self.change(number, *control)]
        changed = set()
        for event in events:
            for id_, (customer, matches, _) in self.holds.items():
                if customer in (None, event["customer"]) and matches(event):
                    self.counts[id_, event["customer"]] += 1
                    changed.add((id_, event["customer"]))
        rows += [f"{id_}/{who}: {self.counts[id_, who]} since {self.holds[id_][2]}" for id_, who in changed]
        return set(rows)

    def change(self, number: int, id_: str | None, body: Mapping[str, Any] | str | None) -> list[str]:
        if body is None and id_ in self.holds:
            del self.holds[id_]
            return self.forget(id_)
        matches = MATCHES.get(body["when"]) if isinstance(body, Mapping) and "when" in body else None
        if id_ is None or not isinstance(body, Mapping) or matches is None or body["aggregation"] != "count":
            return []
        rule = (None if body["scope"] == "all" else body["scope"]["customer"], matches)
        if id_ in self.holds and self.holds[id_][:2] == rule:
            return []
        gone = self.forget(id_) if id_ in self.holds else []
        self.holds[id_] = (*rule, number)
        return gone

    def forget(self, id_: str) -> list[str]:
        return [f"{one}/{who}" for one, who in list(self.counts) if one == id_ and self.counts.pop((one, who))]
