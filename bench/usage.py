"""Memory and CPU time of groups of processes (Linux)."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil

from tandem.local import sessions

Groups = Mapping[str, Sequence[int]]
"""Name of a group → the sessions in it, by the process that leads each."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """CPU seconds so far: of each group, and of the whole machine (all cores, without idling)."""

    groups: Mapping[str, float]
    machine: float


def cpu_seconds(groups: Groups) -> Cpu:
    """CPU time of every group now."""
    times = psutil.cpu_times()
    busy = sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0)
    return Cpu({name: sum(map(_cpu_of, _members(leaders))) for name, leaders in groups.items()}, busy)


def cores_used(before: Cpu, after: Cpu, seconds: float) -> tuple[dict[str, float], float]:
    """Cores that each group kept busy, and that everything else did."""
    of = {name: (after.groups[name] - before.groups.get(name, 0.0)) / seconds for name in after.groups}
    machine = (after.machine - before.machine) / seconds
    return {name: round(value, 3) for name, value in of.items()}, round(max(0.0, machine - sum(of.values())), 3)


def memory_mb(leaders: Sequence[int]) -> float:
    """Proportional set size of all processes of the sessions: what is shared is shared out."""
    return round(sum(map(_pss_of, _members(leaders))), 1)


def _members(leaders: Sequence[int]) -> list[int]:
    return [pid for leader in leaders for pid in sessions.members(leader)]


def _cpu_of(pid: int) -> float:
    with contextlib.suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


def _pss_of(pid: int) -> float:
    with contextlib.suppress(psutil.Error):
        return float(psutil.Process(pid).memory_full_info().pss / 1e6)
    return 0.0
