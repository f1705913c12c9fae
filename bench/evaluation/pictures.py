"""The plots of an evaluation, each from results alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

from bench.evaluation.results import RunResult
from bench.plot import plot_kills

Rounds = Mapping[str, Sequence[RunResult]]
Key = tuple[str, int, str]
"""Workload, rate and fault."""
Panels = Mapping[Key, Rounds]
COMPARED = ("leader-realtime", "leader", "spark-tuned", "flink-tuned (100 ms)")
"""Configurations that a reader wants to see beside each other under kills."""
_WITH = {
    "slow": ", one replica slow",
    "kill": ", with kills",
    "pause": ", with pauses",
    "kill-all": ", all killed at once",
    "kill-in-turn": ", all killed one after the other",
    "chaos": ", with faults of all kinds",
}


def plot_boxes(panels: Panels, path: Path) -> None:
    """Latency: boxes p25/p50/p75 with whiskers p1/p99; a panel for each workload and rate, several rounds side by side."""

    def draw(axis: Any, rounds: Rounds) -> None:
        boxes = [
            {
                "label": _short(name) + (f"\n#{one.spec.round + 1}" if one.spec.round else ""),
                "whislo": one.latency.p1,
                "q1": one.latency.p25,
                "med": one.latency.p50,
                "q3": one.latency.p75,
                "whishi": one.latency.p99,
            }
            for name, all_rounds in rounds.items()
            for one in all_rounds
            if one.latency is not None
        ]
        if boxes:
            axis.bxp(boxes, showfliers=False)
        axis.set(ylabel="latency, ms", ylim=(0, None))

    _panels(panels, path, "Creation to read_committed reader: p1/p25/p50/p75/p99", draw)


def plot_outages(panels: Panels, path: Path) -> None:
    """The longest time without output around a fault, and of an equal stretch before; and the catch-up. Logarithmic."""

    def draw(axis: Any, rounds: Rounds) -> None:
        kills = {name: [kill for one in many for kill in one.kills] for name, many in rounds.items()}
        bars = {
            "before a fault": [_median([k.before / 1_000 for k in kills[name]]) for name in rounds],
            "outage": [_median([k.outage / 1_000 for k in kills[name]]) for name in rounds],
            "catch-up": [_median([k.catch_up_s for k in kills[name]]) for name in rounds],
        }
        _bars(axis, list(rounds), bars)
        axis.set_yscale("log")
        axis.set(ylabel="s, median of faults")

    _panels(panels, path, "Output around faults", draw)


def plot_usage(panels: Panels, path: Path) -> None:
    """Processor and memory of all processes of a system, means over the window."""

    def draw(axis: Any, rounds: Rounds) -> None:
        cores = [_mean([one.cores for one in many]) for many in rounds.values()]
        memory = [_mean([one.memory for one in many]) / 1_000 for many in rounds.values()]
        _bars(axis, list(rounds), {"cores": cores, "memory, GB": memory})

    _panels(panels, path, "Processor and memory of the whole system", draw)


def plot_compared(rounds: Rounds, path: Path) -> bool:
    """Latency around the kills of a few configurations below each other; return whether there are any."""
    shown = [name for name in COMPARED if rounds.get(name)]
    series = {name: [kill.series for one in rounds[name] for kill in one.kills] for name in shown}
    if series:
        plot_kills(series, path)
    return bool(series)


def plot_series(name: str, rounds: Sequence[RunResult], path: Path) -> None:
    """Latency over time, one panel per round, the faults marked; logarithmic."""
    figure, axes = plt.subplots(len(rounds), 1, figsize=(10, 2.8 * len(rounds)), squeeze=False, layout="constrained")
    for axis, one in zip(axes[:, 0], rounds, strict=True):
        series = one.series
        axis.plot(series.at_s, series.p99, ".", markersize=3, color="tab:orange", label="p99")
        axis.plot(series.at_s, series.p50, ".", markersize=3, color="tab:blue", label="p50")
        for number, at_s in enumerate(series.kills_at_s):
            axis.axvline(at_s, color="tab:red", linewidth=1, label="" if number else one.spec.fault)
        axis.set_yscale("log")
        axis.set(title=f"{name}, round {one.spec.round + 1}", xlabel="s", ylabel="latency, ms")
        axis.grid(alpha=0.3)
        axis.legend(loc="upper right", fontsize=7)
    _save(figure, path)


def titled(key: Key) -> str:
    """`identity, 1,000 records/s, with kills`."""
    workload, rate, fault = key
    return f"{workload}, {rate:,} records/s{_WITH.get(fault, '')}"


def _panels(panels: Panels, path: Path, title: str, draw: Callable[[Any, Rounds], None]) -> None:
    most = max(sum(map(len, rounds.values())) for rounds in panels.values())
    size = (2.5 + 0.95 * most, 4.0 * len(panels) + 0.5)
    figure, axes = plt.subplots(len(panels), 1, figsize=size, squeeze=False, layout="constrained")
    for axis, (key, rounds) in zip(axes[:, 0], panels.items(), strict=True):
        draw(axis, rounds)
        axis.set_title(titled(key))
        axis.tick_params(axis="x", labelsize=7)
        axis.grid(axis="y", alpha=0.3)
    figure.suptitle(title)
    _save(figure, path)


def _bars(axis: Any, names: Sequence[str], bars: Mapping[str, Sequence[float]]) -> None:
    width = 0.8 / len(bars)
    for number, (label, values) in enumerate(bars.items()):
        axis.bar([place + number * width for place in range(len(names))], values, width, label=label)
    axis.set_xticks([place + 0.4 - width / 2 for place in range(len(names))], [_short(name) for name in names])
    axis.legend(fontsize=7)


def _short(name: str) -> str:
    return name.replace("-", "\n").replace(" (", "\n(")


def _median(values: Sequence[float]) -> float:
    return median(values) if values else 0.0


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return fmean(known) if known else 0.0


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=130)
    plt.close(figure)
