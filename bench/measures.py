"""What runs found out, as it goes into `results.json`. Latency, gaps and phases in ms, memory in MB, CPU in cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from bench.analysis import Faults, Latency


@dataclass(frozen=True, slots=True)
class Row:
    """One measuring window of one configuration.

    `cpu` and `memory` are of one replica, its orderer included, or of plain Spark. `around_cpu`: broker, ZooKeeper, feeder
    and reader. `foreign_cpu`: whatever else the machine did. `faults`: those of the whole run. `phases`: mean ms per
    epoch.
    """

    configuration: str
    job: str
    rate: int
    round: int
    latency: Latency
    longest_gap: float
    rows_per_s: float
    epochs_per_s: float | None
    memory: float
    cpu: float
    around_cpu: float
    foreign_cpu: float
    phases: Mapping[str, float] = field(default_factory=dict)
    faults: Faults | None = None


@dataclass(frozen=True, slots=True)
class Kill:
    """One SIGKILL. Seconds from the kill: until the process is up, until it computes, until all are at the head again.

    `gap_began`: ms from the kill until the longest gap began; far from 0, the restart made it.
    `latency_back_s`: until latency is within a tenth of what it was, as Clonos measures recovery.
    None: not within the bound, or unknown.
    """

    at_s: float
    victim: str
    led: bool | None
    gap: float
    gap_before: float
    gap_began: float
    up_s: float | None
    computing_s: float | None
    at_head_s: float | None
    latency_back_s: float

    @property
    def ratio(self) -> float:
        """The gap around the kill, over that of an equal stretch before it."""
        return self.gap / self.gap_before


@dataclass(frozen=True, slots=True)
class KillRun:
    """The kills of one configuration; `faults` are those of the whole run."""

    configuration: str
    job: str
    rate: int
    round: int
    kills: tuple[Kill, ...]
    faults: Faults


@dataclass(frozen=True, slots=True)
class Failure:
    """A configuration that could not be measured, and why."""

    configuration: str
    job: str
    reason: str


@dataclass(frozen=True, slots=True)
class Target:
    """Something that must be reached. `value` None: not measured."""

    name: str
    limit: str
    value: float | None
    reached: bool | None

    @classmethod
    def at_most(cls, name: str, limit: float, value: float | None) -> Self:
        """Reached at `limit`, too."""
        return cls(name, f"≤ {limit:g}", value, None if value is None else value <= limit)

    @classmethod
    def below(cls, name: str, limit: float, value: float | None) -> Self:
        """Not reached at `limit`."""
        return cls(name, f"< {limit:g}", value, None if value is None else value < limit)
