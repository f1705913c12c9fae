"""Figures of panels as one picture, in Grafana's grid and colours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from dashboards.figures import GRID, Figure, Kind, Place, Word, colour, limits, newest, runs, shown

_COLUMN_IN, _ROW_IN, _HEAD_IN, _DPI = 0.5, 0.32, 0.5, 110
_BACK, _BOX, _TEXT, _FAINT = "#111217", "#181b1f", "#d8d9da", "#3a3d44"
_NAMED: Final = {"green": "#73bf69", "yellow": "#fade2a", "red": "#f2495c", "": _TEXT}
_LINES: Final = ("#73bf69", "#f2cc0c", "#8ab8ff", "#ff780a", "#f2495c", "#b877d9", "#5794f2", "#ffa6b0")


def draw(path: Path, title: str, figures: Sequence[Figure]) -> None:
    """Write a PNG. The panels lie as in the dashboard."""
    columns_in = GRID * _COLUMN_IN
    rows = max(one.panel.place.y + one.panel.place.height for one in figures)
    height_in = rows * _ROW_IN + _HEAD_IN
    picture = plt.figure(figsize=(columns_in, height_in), facecolor=_BACK)
    picture.text(0.008, 1 - 0.3 / height_in, title, color=_TEXT, fontsize=12, weight="bold")
    for one in figures:
        axis = picture.add_axes(_box(one, height_in), facecolor=_BOX)
        _DRAWN[one.panel.kind](axis, one)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, dpi=_DPI, facecolor=_BACK)
    plt.close(picture)


def _box(one: Figure, height_in: float) -> tuple[float, float, float, float]:
    """Left, bottom, width, height of the axes, as parts of the picture: room for ticks and the legend stays around them."""
    place: Place = one.panel.place
    left, right, top, bottom = _MARGINS_IN[one.panel.kind]
    x_in, y_in = place.x * _COLUMN_IN, _HEAD_IN + place.y * _ROW_IN
    width_in, tall_in = place.width * _COLUMN_IN, place.height * _ROW_IN
    return (
        (x_in + left) / (GRID * _COLUMN_IN),
        1 - (y_in + tall_in - bottom) / height_in,
        (width_in - left - right) / (GRID * _COLUMN_IN),
        (tall_in - top - bottom) / height_in,
    )


def _row(axis: Axes, one: Figure) -> None:
    axis.axis("off")
    axis.text(0, 0.3, one.panel.title, color=_TEXT, fontsize=11, weight="bold", transform=axis.transAxes)


def _stat(axis: Axes, one: Figure) -> None:
    value = newest(one.lines[0]) if one.lines else math.nan
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    _title(axis, one)
    axis.text(
        0.5,
        0.45,
        shown(value, one.panel.unit),
        color=_NAMED[colour(value, one.panel.thresholds)],
        fontsize=24,
        ha="center",
        va="center",
        transform=axis.transAxes,
    )


def _states(axis: Axes, one: Figure) -> None:
    words = one.panel.words or {}
    for row, line in enumerate(one.lines):
        for run in runs(line, one.times):
            word = words.get(run.value, Word(shown(run.value, one.panel.unit), ""))
            length_s = run.end_s - run.start_s
            axis.broken_barh([(run.start_s, length_s)], (row - 0.2, 0.6), color=_NAMED[word.colour], alpha=0.7)
            if length_s > len(one.times) * one.times.step / 8:
                axis.text(run.start_s, row + 0.1, f" {word.text}", color=_TEXT, fontsize=8, va="center")
        axis.text(one.times[0], row - 0.25, line.name, color=_TEXT, fontsize=8, va="bottom")
    _over_time(axis, one)
    axis.set_yticks([])
    axis.set_ylim(max(len(one.lines), 1) - 0.5, -0.6)


def _over_time_lines(axis: Axes, one: Figure) -> None:
    times = list(one.times)
    for number, line in enumerate(one.lines):
        hue = _LINES[number % len(_LINES)]
        axis.plot(times, line.values, color=hue, linewidth=1.2, label=line.name)
        axis.fill_between(times, line.values, color=hue, alpha=0.08)
    highest = max((value for line in one.lines for value in line.values if math.isfinite(value)), default=0.0)
    axis.set_ylim(0, highest * 1.08 or 1.0)
    for limit in limits(one.panel):
        axis.axhline(limit.value, color=_NAMED[limit.colour], linewidth=1, linestyle="--")
    _over_time(axis, one)
    axis.yaxis.set_major_locator(MaxNLocator(5))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: shown(value, one.panel.unit)))
    axis.grid(axis="y", color=_FAINT, linewidth=0.6)
    if one.lines:
        below = axis.legend(loc="upper left", bbox_to_anchor=(-0.02, -0.12), ncols=4, frameon=False, fontsize=8)
        for text in below.get_texts():
            text.set_color(_TEXT)
    else:
        axis.text(0.5, 0.5, "no data", color=_TEXT, ha="center", transform=axis.transAxes)


def _over_time(axis: Axes, one: Figure) -> None:
    """What all panels over time have: the title, and the time of day below."""
    axis.set_xlim(one.times[0], one.times[-1])
    axis.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 1.5, 3, 6, 10]))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda time_s, _: datetime.fromtimestamp(time_s, UTC).strftime("%T")))
    axis.tick_params(colors=_TEXT, labelsize=8, length=0)
    axis.spines[:].set_visible(False)
    _title(axis, one)


def _title(axis: Axes, one: Figure) -> None:
    axis.set_title(one.panel.title, color=_TEXT, fontsize=9, loc="left")


_DRAWN: Final[Mapping[Kind, Callable[[Axes, Figure], None]]] = {
    "row": _row,
    "stat": _stat,
    "state-timeline": _states,
    "timeseries": _over_time_lines,
}
_MARGINS_IN: Final[Mapping[Kind, tuple[float, float, float, float]]] = {
    "row": (0.1, 0.1, 0.0, 0.0),
    "stat": (0.06, 0.06, 0.3, 0.06),
    "state-timeline": (0.2, 0.2, 0.35, 0.3),
    "timeseries": (0.95, 0.2, 0.35, 0.5),
}
"""Left, right, top, bottom."""
