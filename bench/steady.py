"""Measuring without failures: one start of a configuration, a window at each rate."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from statistics import fmean

from bench.analysis import latency, longest_gap_ms, within
from bench.measures import Row
from bench.metrics import Sample, epochs_between, phases_between
from bench.plan import Settings
from bench.stage import Stage
from bench.usage import Cpu, cores_used, cpu_seconds, memory_mb

_AROUND = "around"


@dataclass(frozen=True, slots=True)
class _Mark:
    """What is read at the beginning and at the end of a window."""

    ns: int
    cpu: Cpu
    samples: dict[str, Sample]


def measure(stage: Stage, settings: Settings) -> list[Row]:
    """A row per rate. Raises what the stage raises, and `RuntimeError` if nothing comes out in a window."""
    stage.wait_until_up()
    rows = []
    for number, rate in enumerate(settings.rates_in_order):
        stage.feeder.rate(rate)
        warm_up = settings.again_s if number else settings.warm_up_s
        stage.say(f"{rate}/s: warm-up of {warm_up:g} s, then {settings.window_s:g} s")
        stage.spend(warm_up)
        rows.append(_window(stage, rate, settings.window_s))
        row = rows[-1]
        stage.say(
            f"{rate}/s: p50 {row.latency.p50:.0f} ms, p99 {row.latency.p99:.0f} ms, longest gap {row.longest_gap:.0f} ms, "
            f"{row.memory:.0f} MB, {row.cpu:.2f} cores, around it {row.around_cpu:.2f}, foreign {row.foreign_cpu:.2f}"
        )
    faults = stage.drain()
    stage.say(f"lost {faults.lost}, duplicated {faults.duplicated}, reordered {faults.reordered}")
    return [replace(row, faults=faults) for row in rows]


def _window(stage: Stage, rate: int, window_s: float) -> Row:
    begin = _mark(stage)
    stage.spend(window_s)
    end = _mark(stage)
    memory = fmean(memory_mb(leaders) for leaders in stage.system.leaders().values())
    arrivals = within(stage.arrivals_until(end.ns), begin.ns, end.ns)
    found = latency(arrivals)
    if found is None:
        raise RuntimeError(f"nothing came out for {window_s:g} s at {rate}/s")
    seconds = (end.ns - begin.ns) / 1e9
    used, foreign = cores_used(begin.cpu, end.cpu, seconds)
    around = used.pop(_AROUND)
    both = [(begin.samples[name], sample) for name, sample in end.samples.items() if name in begin.samples]
    return Row(
        stage.run.configuration.name,
        stage.run.job,
        rate,
        stage.run.round,
        found,
        round(longest_gap_ms(arrivals["arrived_ns"], begin.ns, end.ns), 1),
        round(len(arrivals) / seconds, 1),
        round(fmean(epochs_between(*pair) for pair in both) / seconds, 2) if both else None,
        round(memory, 1),
        round(fmean(used.values()), 3),
        around,
        foreign,
        _mean_phases([phases_between(*pair) for pair in both]),
    )


def _mark(stage: Stage) -> _Mark:
    groups = {**stage.system.leaders(), _AROUND: stage.around()}
    return _Mark(time.time_ns(), cpu_seconds(groups), stage.system.samples())


def _mean_phases(of_replicas: list[dict[str, float]]) -> dict[str, float]:
    """Of all replicas. What only the publishing one does is spread over them, as the work is."""
    names = dict.fromkeys(name for phases in of_replicas for name in phases)
    return {name: round(fmean(phases.get(name, 0.0) for phases in of_replicas), 2) for name in names}
