"""What arrivals tell: latencies, gaps, lost, duplicated, reordered. Pure functions; times are Unix ns unless named."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from bench.records import PARTITIONS, Arrivals

Times = npt.NDArray[np.int64]

MS = 1_000_000
S = 1_000_000_000
_NOTICED_WITHIN_S = 2.0


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles of latency from creation to arrival, ms, and how many records there were."""

    records: int
    p1: float
    p25: float
    p50: float
    p75: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Faults:
    """Records that are missing, came more than once, or came after a later one of the same partitions."""

    lost: int
    duplicated: int
    reordered: int

    @property
    def none(self) -> bool:
        """Whether all is well."""
        return self == Faults(0, 0, 0)


def within(arrivals: Arrivals, start_ns: int, end_ns: int) -> Arrivals:
    """Those that arrived in [start, end)."""
    times = arrivals["arrived_ns"]
    return arrivals[(times >= start_ns) & (times < end_ns)]


def latency(arrivals: Arrivals) -> Latency | None:
    """None if nothing arrived."""
    if not len(arrivals):
        return None
    ms = (arrivals["arrived_ns"] - arrivals["created_ns"]) / MS
    return Latency(len(ms), *(round(float(value), 2) for value in np.percentile(ms, [1, 25, 50, 75, 99, 100])))


def longest_gap_ms(arrived_ns: Times, start_ns: int, end_ns: int) -> float:
    """The longest time without an arrival in [start, end], the edges of the window included, ms."""
    return _longest_gap(arrived_ns, start_ns, end_ns)[0]


def _longest_gap(arrived_ns: Times, start_ns: int, end_ns: int) -> tuple[float, int]:
    """As `longest_gap_ms`, and when it began, Unix ns."""
    inside = np.sort(arrived_ns[(arrived_ns >= start_ns) & (arrived_ns <= end_ns)])
    edges = np.concatenate([[start_ns], inside, [end_ns]])
    gaps = np.diff(edges)
    longest = int(gaps.argmax())
    return float(gaps[longest]) / MS, int(edges[longest])


@dataclass(frozen=True, slots=True)
class KillGaps:
    """The longest gap around a kill, and that of an equally long stretch right before; ms.

    `began` : when the one around the kill began, ms after it; negative: before.
    """

    around: float
    before: float
    began: float


def gaps_around(arrived_ns: Times, kill_ns: int, before_s: float, after_s: float) -> KillGaps:
    """Of [kill − before, kill + after], and of the stretch of the same length that ends where that begins."""
    start, end = kill_ns - int(before_s * S), kill_ns + int(after_s * S)
    around, began_ns = _longest_gap(arrived_ns, start, end)
    before = longest_gap_ms(arrived_ns, 2 * start - end, start)
    return KillGaps(around, before, (began_ns - kill_ns) / MS)


def recovered_after_s(
    arrivals: Arrivals, kill_ns: int, until_ns: int, factor: float = 1.1, step_s: float = 0.5
) -> float:
    """Seconds from a kill until the median latency of a step is within `factor` × that of the 10 s before again.

    A step without arrivals is late. 0 if none of the first two seconds is; the bound if all are late until then.
    """
    usual = latency(within(arrivals, kill_ns - 10 * S, kill_ns))
    step = int(step_s * S)
    began = False
    for start in range(kill_ns, until_ns - step + 1, step):
        now = latency(within(arrivals, start, start + step))
        late = now is None or usual is None or now.p50 > factor * usual.p50
        if began and not late:
            return (start - kill_ns) / S
        began = began or late
        if not began and start - kill_ns >= _NOTICED_WITHIN_S * S:
            return 0.0
    return (until_ns - kill_ns) / S if began else 0.0


def faults_of_identity(arrivals: Arrivals, sent: int) -> Faults:
    """Numbers 0 … `sent` − 1 must arrive once each, and in order between every pair of an input and an output partition."""
    numbers = arrivals["number"]
    unique, first = np.unique(numbers, return_index=True)
    lanes = arrivals["key"].astype(np.int64) % PARTITIONS * PARTITIONS + arrivals["partition"]
    once = np.zeros(len(numbers), bool)
    once[first] = True
    reordered = sum(_falls(numbers[once & (lanes == lane)]) for lane in np.unique(lanes))
    return Faults(sent - len(unique), len(numbers) - len(unique), reordered)


def faults_of_count(arrivals: Arrivals, sent_keys: Times) -> Faults:
    """The counts of a key must rise, and end at how often the key was sent.

    Lost and duplicated also tell how far the last counts are below and above that.
    """
    order = np.argsort(arrivals["key"], kind="stable")
    key, number = arrivals["key"][order], arrivals["number"][order]
    same = key[1:] == key[:-1]
    step = np.diff(number)
    highest = np.zeros(max(int(sent_keys.max(initial=0)), int(key.max(initial=0))) + 1, np.int64)
    np.maximum.at(highest, key, number)
    missing = np.bincount(sent_keys, minlength=len(highest)) - highest
    repeated = int((same & (step == 0)).sum())
    fallen = int((same & (step < 0)).sum())
    return Faults(int(missing[missing > 0].sum()), repeated - int(missing[missing < 0].sum()), fallen)


def faults_of_rows(arrivals: Arrivals, expected: Times) -> Faults:
    """The numbers of `expected`, each once, must arrive, in any order; one that was not expected counts as duplicated."""
    seen = np.unique(arrivals["number"])
    missing = np.setdiff1d(expected, seen, assume_unique=True)
    return Faults(len(missing), len(arrivals) - (len(expected) - len(missing)), 0)


def faults_of_rows_in_order(arrivals: Arrivals, expected: Times, places: Times) -> Faults:
    """The same, but those of a place must arrive in order. `places`: of each arrival, shape (arrivals,)."""
    found = faults_of_rows(arrivals, expected)
    first = np.sort(np.unique(arrivals["number"], return_index=True)[1])
    first = first[np.isin(arrivals["number"][first], expected)]
    numbers, own = arrivals["number"][first], places[first]
    order = np.argsort(own, kind="stable")
    parts = np.split(numbers[order], np.flatnonzero(np.diff(own[order])) + 1)
    return Faults(found.lost, found.duplicated, sum(map(_falls, parts)))


def _falls(numbers: Times) -> int:
    """How many numbers come after a higher one."""
    return int((numbers[1:] < np.maximum.accumulate(numbers)[:-1]).sum()) if len(numbers) > 1 else 0


@dataclass(frozen=True, slots=True)
class KillSeries:
    """Latency around one kill, for a plot: seconds from the kill, and ms, of every record kept."""

    after_s: list[float] = field(default_factory=list)
    latency_ms: list[float] = field(default_factory=list)


def series_around(arrivals: Arrivals, kill_ns: int, most: int = 4_000) -> KillSeries:
    """Of 10 s before a kill (Unix, ns) and 30 s behind it, `most` records or a few more."""
    near = within(arrivals, kill_ns - 10 * S, kill_ns + 30 * S)
    near = near[:: max(1, len(near) // most)]
    after = (near["arrived_ns"] - kill_ns) / S
    return KillSeries(after.round(3).tolist(), ((near["arrived_ns"] - near["created_ns"]) / MS).round(1).tolist())
