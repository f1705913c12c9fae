"""The picture of a run: the latency of every record, and which replica published."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import StrMethodFormatter

from tandem.demo.latency import Latencies, SeenEpoch
from tandem.demo.summary import Summary, Timeline

_RED, _BLUE, _GREY = "#c0392b", "#2c5f8a", "#777777"
_OWNERS = ("#2c5f8a", "#d98c21", "#3f8f5b", "#7d5ba6")


def plot(
    path: Path,
    about: str,
    seen: Latencies,
    epochs: Sequence[SeenEpoch],
    names: Sequence[str],
    timeline: Timeline,
    summary: Summary,
) -> None:
    """Write a PNG. Every record after the warm-up is a dot; the line is the median of each second.

    `about` : what the job is. `names` : the replicas.
    """
    shown = seen.between(timeline.started_ms, math.inf)
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(10, 5), sharex=True, height_ratios=(6, 1), layout="constrained"
    )
    seconds = (shown.created_ms - timeline.started_ms) / 1_000
    above.plot(
        seconds, shown.latency_ms, ".", color=_BLUE, alpha=0.15, markersize=3, markeredgewidth=0, rasterized=True
    )
    above.plot(
        *_median_per_second(seconds, shown.latency_ms), color=_BLUE, linewidth=1.4, label="median of each second"
    )
    above.set(ylabel="latency, ms", ylim=(0, None), xlim=(0, (timeline.ended_ms - timeline.started_ms) / 1_000))
    above.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    above.set_title(_caption(summary), fontsize=9, color=_GREY, loc="left")
    title = "Latency of every record while the publishing replica is killed"
    figure.suptitle(f"{title}: {about}", fontsize=11, x=0.02, ha="left")
    _publishers(below, epochs, names, timeline)
    for axis in (above, below):
        _mark(axis, timeline, labelled=axis is above)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y" if axis is above else "x", alpha=0.25)
    above.legend(loc="upper left", frameon=False, fontsize=8)
    below.set_xlabel("seconds after the warm-up")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _median_per_second(seconds: np.ndarray, latency: np.ndarray) -> tuple[list[float], list[float]]:
    whole = np.floor(seconds)
    present = np.unique(whole)
    return [float(s) + 0.5 for s in present], [float(np.median(latency[whole == s])) for s in present]


def _publishers(axis: Axes, epochs: Sequence[SeenEpoch], names: Sequence[str], timeline: Timeline) -> None:
    """A tick for each epoch, in the row of the replica that published it."""
    for row, name in enumerate(names):
        arrivals = [
            (epoch.arrived_ms - timeline.started_ms) / 1_000
            for epoch in epochs
            if epoch.owner == name and timeline.started_ms <= epoch.arrived_ms <= timeline.ended_ms
        ]
        colour = _OWNERS[row % len(_OWNERS)]
        axis.plot(arrivals, [row] * len(arrivals), "|", markersize=11, markeredgewidth=0.7, color=colour)
    axis.set_yticks(range(len(names)), [f"{name} publishes" for name in names], fontsize=8)
    axis.set_ylim(len(names) - 0.4, -0.6)


def _mark(axis: Axes, timeline: Timeline, labelled: bool) -> None:
    if math.isnan(timeline.killed_ms):
        return
    end_ms = timeline.ended_ms if math.isnan(timeline.returned_ms) else timeline.returned_ms
    killed, returned = ((at - timeline.started_ms) / 1_000 for at in (timeline.killed_ms, end_ms))
    axis.axvspan(killed, returned, color=_RED, alpha=0.06, linewidth=0)
    axis.axvline(killed, color=_RED, linewidth=1.3)
    if not math.isnan(timeline.returned_ms):
        axis.axvline(returned, color=_RED, linewidth=1, linestyle="--")
    if labelled:
        _, top = axis.get_ylim()
        text: dict[str, Any] = {"va": "top", "fontsize": 8, "color": _RED}
        axis.text(killed, top, f" SIGKILL: {timeline.victim}", fontweight="bold", **text)
        if not math.isnan(timeline.returned_ms):
            axis.text(returned, top, " it is back", **text)


def _caption(summary: Summary) -> str:
    words = f"{summary.published:,} records, exactly once: {summary.lost:,} lost, {summary.duplicated:,} duplicated, "
    words += f"{summary.reordered:,} reordered. "
    return (
        words
        + f"Longest time without output {summary.gap.ms:,.0f} ms (before the kill {summary.gap_before.ms:,.0f} ms)"
    )
