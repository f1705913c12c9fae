"""What the files of one run say: latency in its window, what its kills did to the output, what it used. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
import numpy.typing as npt

from bench.analysis import (
    MS,
    KillSeries,
    Latency,
    S,
    gaps_around,
    latency,
    longest_gap_ms,
    recovered_after_s,
    series_around,
    within,
)
from bench.evaluation.configurations import KNOWN
from bench.evaluation.plan import BEFORE_S, RunSpec
from bench.evaluation.record import KillSeen, RunRecord
from bench.measured import WORKLOADS
from bench.records import PARTITIONS, Arrivals

_STEP_S = 0.25
_MOST_POINTS = 400

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class KillResult:
    """`outage`: the longest time without output around the kill, ms; `before`: that of an equal stretch before it.

    `catch_up_s`: until latency is within a tenth of what it was; `followed_s`, for how long that was looked at, if it was
    not. `at_head_s`: until all replicas were at the head again; `until_back`: the longest time without output until then,
    ms. Where there are lanes, all of this is of the lane that was struck; `others`: the outage of the other lanes, ms.
    """

    outage: float
    before: float
    until_back: float
    catch_up_s: float
    followed_s: float
    at_head_s: float | None
    others: float | None = None
    series: KillSeries = field(default_factory=KillSeries)


@dataclass(frozen=True, slots=True)
class Series:
    """Latency over the time of a run: s from its window's start, and ms (median and p99) of steps of a quarter second."""

    at_s: Floats
    p50: Floats
    p99: Floats
    kills_at_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run. `latency`: of its window; None: nothing came out. `cores`, `memory` (MB): means over the window.

    `other_share`: what the broker's logs grew by for topics that are neither input nor output, over the output.
    """

    record: RunRecord
    latency: Latency | None
    longest_gap: float
    rows_per_s: float
    kills: tuple[KillResult, ...]
    cores: float | None
    memory: float | None
    foreign: float | None
    other_share: float | None
    series: Series

    @property
    def spec(self) -> RunSpec:
        """What was run."""
        return self.record.spec


def result_of(record: RunRecord, arrivals: Arrivals) -> RunResult:
    """All of a run that is in a report.

    Of replicas that agree on nothing the first copy of a row counts: readers drop the others.
    """
    if record.spec.system.mode == "none" and WORKLOADS[record.spec.workload].copies:
        arrivals = arrivals[np.sort(np.unique(arrivals["number"], return_index=True)[1])]
    window = within(arrivals, record.start_ns, record.end_ns)
    usage, wire = record.usage, record.wire
    return RunResult(
        record,
        latency(window),
        longest_gap_ms(window["arrived_ns"], record.start_ns, record.end_ns),
        len(window) / ((record.end_ns - record.start_ns) / S),
        tuple(_kill(record, arrivals, number) for number in range(len(record.kills))),
        _mean(usage.cores),
        _mean(usage.memory),
        _mean(usage.foreign),
        wire.other / wire.output if wire.output else None,
        series_of(record, window),
    )


def series_of(record: RunRecord, window: Arrivals) -> Series:
    """Steps without an arrival are left out: a gap in the line is one in the output."""
    at_s = (window["arrived_ns"] - record.start_ns) / S
    ms = (window["arrived_ns"] - window["created_ns"]) / MS
    steps = (at_s / _STEP_S).astype(np.int64)
    order = np.argsort(steps, kind="stable")
    found, first = np.unique(steps[order], return_index=True)
    parts = np.split(ms[order], first[1:]) if len(found) else []
    return Series(
        np.asarray((found + 0.5) * _STEP_S, np.float64),
        np.array([np.median(part) for part in parts], np.float64),
        np.array([np.percentile(part, 99) for part in parts], np.float64),
        tuple((kill.at_ns - record.start_ns) / S for kill in record.kills),
    )


@dataclass(frozen=True, slots=True)
class Growth:
    """The memory of one part of the system: MB (median) in the first and the last tenth of the window, and MB/h between."""

    part: str
    first: float
    last: float
    slope: float


def growths(record: RunRecord) -> list[Growth]:
    """Of each part. The slope is the median of those between any two moments (Theil and Sen): restarts do not bend it."""
    at_s = np.array(record.usage.at_s)
    if len(at_s) < 2:
        return []
    some = np.unique(np.linspace(0, len(at_s) - 1, min(len(at_s), _MOST_POINTS)).astype(int))
    first, second = np.triu_indices(len(some), 1)
    tenth = max(1, len(at_s) // 10)
    found = []
    for part, values in sorted(record.usage.parts.items()):
        mb = np.array(values)
        slopes = (mb[some][second] - mb[some][first]) / (at_s[some][second] - at_s[some][first])
        ends = float(np.median(mb[:tenth])), float(np.median(mb[-tenth:]))
        found.append(Growth(part, *ends, float(np.median(slopes)) * 3_600))
    return found


def of_all(results: Sequence[RunResult]) -> dict[tuple[str, int, str], dict[str, list[RunResult]]]:
    """Workload, rate and fault → configuration → its rounds; sorted."""
    groups: dict[tuple[str, int, str], dict[str, list[RunResult]]] = {}
    for one in sorted(results, key=_place):
        spec = one.spec
        rounds = groups.setdefault((spec.workload, spec.rate, spec.fault), {})
        rounds.setdefault(name_of(spec), []).append(one)
    return groups


def name_of(spec: RunSpec) -> str:
    """The configuration as tables and plots call it: with Flink's checkpoint interval."""
    return spec.label if spec.checkpoint_ms is None else f"{spec.label} ({spec.checkpoint_ms} ms)"


def _place(one: RunResult) -> tuple[object, ...]:
    """Systems in the order in which they are listed, each by engine, lanes and checkpoint interval, round by round."""
    spec = one.spec
    where = spec.workload, spec.rate, spec.fault, KNOWN.index(spec.configuration)
    return (*where, spec.engine or "", spec.lanes, spec.checkpoint_ms or 0, spec.round)


def _kill(record: RunRecord, arrivals: Arrivals, number: int) -> KillResult:
    kill = record.kills[number]
    struck = _struck(record.spec, kill, arrivals)
    own = arrivals[struck]
    outage, before = _outage(record.spec, kill, own)
    others = None if struck.all() else _outage(record.spec, kill, arrivals[~struck])[0]
    until_back = max(outage, longest_gap_ms(own["arrived_ns"], kill.at_ns, max(kill.until_ns, kill.at_ns + 1)))
    back = recovered_after_s(own, kill.at_ns, kill.until_ns)
    followed_s = (kill.until_ns - kill.at_ns) / S
    series = series_around(arrivals, kill.at_ns)
    return KillResult(outage, before, until_back, back, followed_s, kill.at_head_s, others, series)


def _struck(spec: RunSpec, kill: KillSeen, arrivals: Arrivals) -> npt.NDArray[np.bool_]:
    """Which rows are of the lanes of the victims."""
    lanes = {int(lane) for lane in re.findall(r"lane-(\d+)/", kill.victim)}
    if not lanes:
        return np.ones(len(arrivals), bool)
    return np.isin(arrivals["key"] % PARTITIONS % spec.lanes, sorted(lanes))


def _outage(spec: RunSpec, kill: KillSeen, arrivals: Arrivals) -> tuple[float, float]:
    gaps = gaps_around(arrivals["arrived_ns"], kill.at_ns, BEFORE_S, spec.after_s)
    edge_ns = kill.at_ns + int(spec.after_s * S)
    return max(gaps.around, _gap_over_ms(arrivals, edge_ns, kill.until_ns)), gaps.before


def _gap_over_ms(arrivals: Arrivals, edge_ns: int, until_ns: int) -> float:
    """How long nothing arrived around a moment: an outage does not end with the time for which it is followed."""
    before = arrivals["arrived_ns"][arrivals["arrived_ns"] < edge_ns]
    after = arrivals["arrived_ns"][arrivals["arrived_ns"] >= edge_ns]
    if not len(before):
        return 0.0
    return float((after.min() if len(after) else max(until_ns, edge_ns)) - before.max()) / MS


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
