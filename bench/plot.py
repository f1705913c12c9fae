"""Plots of a bench: latency per configuration, and output around kills."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

from bench.analysis import KillSeries
from bench.measures import KillRun, Row


def plot_latency(rows: Sequence[Row], path: Path) -> None:
    """Boxes p25/p50/p75 with whiskers p1/p99, one panel per job and rate; several rounds stand side by side."""
    panels = list(dict.fromkeys((row.job, row.rate) for row in rows))
    width = 1.0 + 0.75 * max(sum((row.job, row.rate) == panel for row in rows) for panel in panels)
    figure, axes = plt.subplots(
        1, len(panels), figsize=(width * len(panels) + 1, 4.5), squeeze=False, layout="constrained"
    )
    for axis, (job, rate) in zip(axes[0], panels, strict=True):
        shown = sorted((row for row in rows if (row.job, row.rate) == (job, rate)), key=lambda row: row.configuration)
        boxes = [
            {
                "label": row.configuration.replace("-", "\n", 1) + (f"\n#{row.round + 1}" if row.round else ""),
                "whislo": row.latency.p1,
                "q1": row.latency.p25,
                "med": row.latency.p50,
                "q3": row.latency.p75,
                "whishi": row.latency.p99,
            }
            for row in shown
        ]
        axis.bxp(boxes, showfliers=False)
        axis.set(title=f"{job}, {rate:,}/s", ylabel="latency, ms", ylim=(0, None))
        axis.tick_params(axis="x", labelsize=7)
        axis.grid(axis="y", alpha=0.3)
    figure.suptitle("Creation to read_committed reader: p1/p25/p50/p75/p99")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def plot_gaps(runs: Sequence[KillRun], path: Path) -> None:
    """The longest gap of the output around each kill, and of an equal stretch before it; logarithmic."""
    figure, axis = plt.subplots(figsize=(2.4 * len(runs) + 2, 4.5), layout="constrained")
    for place, run in enumerate(runs):
        for shift, values, name, colour in (
            (-0.15, [kill.gap_before for kill in run.kills], "without a kill", "tab:green"),
            (0.15, [kill.gap for kill in run.kills], "around a kill", "tab:red"),
        ):
            axis.plot(
                [place + shift] * len(values), values, "o", color=colour, alpha=0.6, label=name if not place else None
            )
    axis.set_yscale("log")
    axis.set_xticks(range(len(runs)), [f"{run.configuration}\n{len(run.kills)} kills" for run in runs], fontsize=8)
    axis.set(ylabel="longest time without output, ms", title="Output around SIGKILL")
    axis.grid(axis="y", alpha=0.3, which="both")
    axis.legend()
    figure.savefig(path, dpi=130)
    plt.close(figure)


def plot_kills(series: Mapping[str, Sequence[KillSeries]], path: Path) -> None:
    """Latency over time, all kills of a configuration laid over each other; logarithmic."""
    figure, axes = plt.subplots(
        *(len(series), 1),
        figsize=(9, 2.6 * len(series)),
        squeeze=False,
        layout="constrained",
        sharex=True,
        sharey=True,
    )
    for axis, (configuration, kills) in zip(axes[:, 0], series.items(), strict=True):
        for kill in kills:
            axis.plot(kill.after_s, kill.latency_ms, ",", alpha=0.5, color="tab:blue")
        axis.axvline(0, color="tab:red", linewidth=1)
        axis.set_yscale("log")
        axis.set(title=f"{configuration}: {len(kills)} kill{'s' if len(kills) > 1 else ''}", ylabel="latency, ms")
        axis.grid(alpha=0.3)
    axes[-1, 0].set_xlabel("seconds after the SIGKILL")
    figure.savefig(path, dpi=130)
    plt.close(figure)
