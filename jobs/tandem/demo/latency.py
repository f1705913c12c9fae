"""What a reader saw, computed from what was observed. All times are ms of one monotonic clock. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tandem.protocol.values import EpochRange, TopicPartition

_ENOUGH = 5

Created = Mapping[tuple[str, int, int], float]
"""(topic, partition, offset) → when the record was created."""


@dataclass(frozen=True, slots=True)
class SeenEpoch:
    """An epoch that was published: what it read, when its marker reached a read_committed reader, which
    replica published it."""

    range: EpochRange
    arrived_ms: float
    owner: str


@dataclass(frozen=True, slots=True)
class Latencies:
    """Every published record: when it was created and how long it took, both of shape (records,)."""

    created_ms: NDArray[np.float64]
    latency_ms: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.created_ms)

    def between(self, start_ms: float, end_ms: float) -> Latencies:
        """The records created at `start_ms` or later, and before `end_ms`."""
        chosen = (self.created_ms >= start_ms) & (self.created_ms < end_ms)
        return Latencies(self.created_ms[chosen], self.latency_ms[chosen])

    def quantile(self, q: float) -> float:
        """NaN without records."""
        return float(np.quantile(self.latency_ms, q)) if len(self) else math.nan


@dataclass(frozen=True, slots=True)
class Gap:
    """The longest time without a new epoch, and when it began."""

    ms: float = 0.0
    start_ms: float = math.nan


def latencies(created: Created, epochs: Iterable[SeenEpoch]) -> Latencies:
    """From creation to the arrival of the epoch's marker. Records that `created` does not know are left out."""
    pairs = [
        (at, epoch.arrived_ms - at)
        for epoch in epochs
        for at in map(created.get, places(epoch.range))
        if at is not None
    ]
    columns = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return Latencies(columns[:, 0], columns[:, 1])


def places(epoch: EpochRange) -> Iterable[tuple[str, int, int]]:
    """The places of an epoch's records."""
    for tp, end in epoch.ends.items():
        for offset in range(epoch.starts.get(tp, 0), end):
            yield (*tp, offset)


def unpublished(created: Created, epochs: Sequence[SeenEpoch]) -> int:
    """How many of the created records are in no published epoch."""
    read: dict[TopicPartition, list[range]] = {}
    for epoch in epochs:
        for tp, end in epoch.range.ends.items():
            read.setdefault(tp, []).append(range(epoch.range.starts.get(tp, 0), end))
    offsets = {tp: {offset for part in parts for offset in part} for tp, parts in read.items()}
    return sum(offset not in offsets.get(TopicPartition(topic, partition), ()) for topic, partition, offset in created)


def longest_gap(arrived_ms: Sequence[float], start_ms: float, end_ms: float) -> Gap:
    """The longest time between arrivals that follow each other, as far as it lies between `start_ms` and `end_ms`.

    The edges count as arrivals would: an output that has ended is a gap.
    """
    inside = [at for at in sorted(arrived_ms) if start_ms < at < end_ms]
    edges = [start_ms, *inside, end_ms]
    gaps = (Gap(later - earlier, earlier) for earlier, later in pairwise(edges))
    return max(gaps, key=lambda gap: gap.ms)


def has_settled(arrived_ms: Sequence[float], now_ms: float, stretch_ms: float = 15_000.0) -> bool:
    """Whether the epochs of the last stretch came hardly more often than those of the stretch before it."""
    recent = sum(now_ms - stretch_ms < at <= now_ms for at in arrived_ms)
    before = sum(now_ms - 2 * stretch_ms < at <= now_ms - stretch_ms for at in arrived_ms)
    return before >= _ENOUGH and recent <= 1.15 * before
