"""What a panel shows, from its JSON and from a Prometheus' answers: pure, for whoever draws it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

GRID: Final = 24
"""Columns of a dashboard."""
_LABEL: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_KINDS: Final = ("row", "stat", "state-timeline", "timeseries")
_THOUSANDS: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_SCALES: Final = {"s": ((1.0, " s"), (1e-3, " ms"), (1e-6, " µs")), "none": ((1.0, ""),)}
_UNITS: Final = {"": "", "none": "", "short": "", "s": "", "recps": " rec/s", "ops": " ops/s", "Bps": " B/s"}

Kind = Literal["row", "stat", "state-timeline", "timeseries"]


@dataclass(frozen=True, slots=True)
class Place:
    """Of a panel in Grafana's grid, from the top left corner."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Target:
    """A PromQL expression, and what its series are called, with labels in double braces."""

    expression: str
    legend: str


@dataclass(frozen=True, slots=True)
class Threshold:
    """The colour of values from this one on."""

    value: float
    colour: str


@dataclass(frozen=True, slots=True)
class Word:
    """What stands for a value."""

    text: str
    colour: str


@dataclass(frozen=True, slots=True)
class Panel:
    """As much of a panel as a picture shows."""

    kind: Kind
    title: str
    place: Place
    unit: str = ""
    targets: tuple[Target, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    words: Mapping[float, Word] | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Of Prometheus' answer: labels, and values by the time that they are of, in seconds."""

    labels: Mapping[str, str]
    values: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Line:
    """A value for each time; NaN where there is none."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """How long one value stayed, in seconds: the end is the start of what comes next."""

    start_s: int
    end_s: int
    value: float


@dataclass(frozen=True, slots=True)
class Figure:
    """A panel with what it shows at these times, in seconds."""

    panel: Panel
    times: range
    lines: tuple[Line, ...]


def panels(board: Mapping[str, Any], rows: Sequence[str]) -> tuple[Panel, ...]:
    """The panels of a dashboard that stand in these rows, with the rows' own heads. Raises `ValueError` for unknown ones."""
    found = [_panel(one) for one in board["panels"]]
    missing = set(rows) - {panel.title for panel in found if panel.kind == "row"}
    if missing:
        raise ValueError(f"{board['title']} has no row {sorted(missing)}; it has {_heads(found)}")
    return tuple(_within(found, rows))


def figure(panel: Panel, answers: Sequence[Sequence[Series]], times: range) -> Figure:
    """What a panel shows. `answers`: one for each of its targets."""
    lines = tuple(
        line
        for target, answer in zip(panel.targets, answers, strict=True)
        for line in sorted((_line(target, series, times) for series in answer), key=lambda line: line.name)
    )
    return Figure(panel, times, lines)


def legend(template: str, labels: Mapping[str, str]) -> str:
    """A series' name; without a template its labels."""
    if not template:
        return ", ".join(f"{name}={value}" for name, value in sorted(labels.items()) if name != "__name__")
    return _LABEL.sub(lambda label: labels.get(label[1], ""), template)


def newest(line: Line) -> float:
    """The last value that is there; NaN: none is."""
    return next((value for value in reversed(line.values) if not math.isnan(value)), math.nan)


def colour(value: float, thresholds: Sequence[Threshold]) -> str:
    """The colour of the last threshold that a value has reached; "": of none."""
    return next((one.colour for one in reversed(thresholds) if value >= one.value), "")


def limits(panel: Panel) -> tuple[Threshold, ...]:
    """The thresholds that can be drawn as a line."""
    return tuple(one for one in panel.thresholds if math.isfinite(one.value))


def runs(line: Line, times: range) -> tuple[Run, ...]:
    """Stretches of the same value; where there is none, there is no run."""
    found: list[Run] = []
    for time_s, value in zip(times, line.values, strict=True):
        last = found[-1] if found else None
        if math.isnan(value):
            continue
        if last is not None and last.end_s == time_s and last.value == value:
            found[-1] = Run(last.start_s, time_s + times.step, value)
        else:
            found.append(Run(time_s, time_s + times.step, value))
    return tuple(found)


def shown(value: float, unit: str) -> str:
    """A value as people read it. Raises `KeyError` for a unit that is not known here."""
    if math.isnan(value):
        return "no data"
    scales, size = _SCALES.get(unit, _THOUSANDS), abs(value) or 1.0
    factor, letter = next((one for one in scales if size >= one[0]), scales[-1])
    number = value / factor
    return f"{number:.3g}{letter}{_UNITS[unit]}" if abs(number) < 999.5 else f"{number:.0f}{letter}{_UNITS[unit]}"


def _panel(found: Mapping[str, Any]) -> Panel:
    if found["type"] not in _KINDS:
        raise ValueError(f"panel {found['title']}: {found['type']} cannot be drawn; known are {', '.join(_KINDS)}")
    place, defaults = found["gridPos"], found.get("fieldConfig", {}).get("defaults", {})
    return Panel(
        kind=found["type"],
        title=found["title"],
        place=Place(place["x"], place["y"], place["w"], place["h"]),
        unit=defaults.get("unit", ""),
        targets=tuple(Target(one["expr"], one["legendFormat"]) for one in found.get("targets", ())),
        thresholds=tuple(
            Threshold(-math.inf if step["value"] is None else float(step["value"]), step["color"])
            for step in defaults.get("thresholds", {}).get("steps", ())
        ),
        words={
            float(value): Word(word["text"], word["color"])
            for mapping in defaults.get("mappings", ())
            for value, word in mapping["options"].items()
        },
    )


def _line(target: Target, series: Series, times: range) -> Line:
    values = tuple(series.values.get(time_s, math.nan) for time_s in times)
    return Line(legend(target.legend, series.labels), values)


def _within(found: Sequence[Panel], rows: Sequence[str]) -> Iterator[Panel]:
    row = ""
    for panel in found:
        row = panel.title if panel.kind == "row" else row
        if row in rows:
            yield panel


def _heads(found: Sequence[Panel]) -> str:
    return ", ".join(panel.title for panel in found if panel.kind == "row")
