"""What a rule has counted for one customer: one total since the rule began, or one for each window of event time. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tandem.examples.rules.expressions import EvaluationError, Number
from tandem.examples.rules.rule import Rule

_S_US = 1_000_000


class Total(NamedTuple):
    """So many events, and what they come to."""

    events: int
    value: Number


@dataclass(frozen=True, slots=True)
class Totals:
    """Of a rule and a customer.

    `by_window` : start of the window (Unix, s) → its total; without windows, 0 → the total since the rule began.
    `newest_us` : the latest event time of what was taken (Unix, us); None without windows.
    """

    by_window: Mapping[int, Total] = field(default_factory=dict)
    newest_us: int | None = None

    @property
    def text(self) -> str:
        """As JSON, to keep."""
        return json.dumps([self.newest_us, sorted((start, *total) for start, total in self.by_window.items())])

    @classmethod
    def of(cls, text: str) -> Totals:
        """From `text`."""
        newest_us, rows = json.loads(text)
        return cls({start: Total(events, value) for start, events, value in rows}, newest_us)


def taken(totals: Totals, rule: Rule, amount: Number, time_us: int | None, lateness_s: int) -> tuple[Totals, int]:
    """The totals with one more event, and the start of its window (0 without windows).

    A window is closed, and forgotten, once an event has come that is `lateness_s` later than its end.

    Raises `EvaluationError`: the event has no time and needs one, its window is closed, or a sum grows beyond all numbers.
    """
    length_s = rule.window_seconds
    if length_s is None:
        return Totals({0: _with(rule, totals.by_window.get(0), amount)}), 0
    if time_us is None:
        raise EvaluationError("the event has no time, and the rule has a window")
    start = time_us // (length_s * _S_US) * length_s
    newest_us = time_us if totals.newest_us is None else max(totals.newest_us, time_us)
    closed = newest_us // _S_US - lateness_s - length_s  # the windows that begin here or earlier
    if start <= closed:
        raise EvaluationError(
            f"its window is closed: an event has come that is {lateness_s} s later than the window's end"
        )
    kept = {first: total for first, total in totals.by_window.items() if first > closed}
    return Totals(kept | {start: _with(rule, kept.get(start), amount)}, newest_us), start


def _with(rule: Rule, total: Total | None, amount: Number) -> Total:
    if total is None:
        return Total(1, amount)
    match rule.aggregation:
        case "count" | "sum":
            value = total.value + amount
        case "min":
            value = min(total.value, amount)
        case "max":
            value = max(total.value, amount)
    if not math.isfinite(value):
        raise EvaluationError(f"the sum would be {value}")
    return Total(total.events + 1, value)
