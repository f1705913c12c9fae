"""What a run's processes use while it goes on, looked at every so often from a thread; and what goes over the wire."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from bench.evaluation.record import Usage, Wire
from tandem.local import sessions

_EVERY_S = 1.0

Cores = Mapping[int, float]
"""Process → CPU seconds so far."""
Parts = Mapping[str, list[int]]
"""Part of the system, a replica with its orderer for example → the processes that lead its sessions; 0: none now."""


def cores_between(before: Cores, after: Cores, seconds: float) -> float:
    """Cores kept busy by all processes of `after`: one that is new since counts whole, one that ended not at all."""
    return sum(max(0.0, used - before.get(pid, 0.0)) for pid, used in after.items()) / seconds


@dataclass
class _Seen:
    at_s: list[float] = field(default_factory=list)
    cores: list[float] = field(default_factory=list)
    around: list[float] = field(default_factory=list)
    foreign: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    parts: dict[str, list[float]] = field(default_factory=dict)


class Watch:
    """Looks at the sessions of the system, by its parts, and of what is around it until it is left."""

    def __init__(self, system: Callable[[], Parts], around: Callable[[], list[int]], every_s: float = _EVERY_S) -> None:
        self._system, self._around, self._every_s = system, around, every_s
        self._seen = _Seen()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()

    def usage(self) -> Usage:
        """What was seen, once it was left."""
        seen = self._seen
        return Usage(
            at_s=tuple(seen.at_s),
            cores=tuple(seen.cores),
            around=tuple(seen.around),
            foreign=tuple(seen.foreign),
            memory=tuple(seen.memory),
            parts={name: tuple(values) for name, values in seen.parts.items()},
        )

    def _run(self) -> None:
        began = before_s = time.monotonic()
        own, around, busy = _cpu(_leaders(self._system())), _cpu(self._around()), _busy_s()
        while not self._stopping.wait(self._every_s):
            with contextlib.suppress(RuntimeError, psutil.Error):  # a process that is being restarted has no pid
                parts = self._system()
                now_own, now_around = _cpu(_leaders(parts)), _cpu(self._around())
                now_busy, now_s = _busy_s(), time.monotonic()
                passed = now_s - before_s
                used = cores_between(own, now_own, passed), cores_between(around, now_around, passed)
                foreign = max(0.0, (now_busy - busy) / passed - sum(used))
                self._note(now_s - began, *used, foreign)
                self._note_memory({name: sum(map(_memory_mb, _members(pids))) for name, pids in parts.items()})
                own, around, busy, before_s = now_own, now_around, now_busy, now_s

    def _note(self, at_s: float, cores: float, around: float, foreign: float) -> None:
        seen = self._seen
        seen.at_s.append(round(at_s, 2))
        seen.cores.append(round(cores, 3))
        seen.around.append(round(around, 3))
        seen.foreign.append(round(foreign, 3))

    def _note_memory(self, parts: Mapping[str, float]) -> None:
        """A part that was not seen before had none."""
        seen = self._seen
        seen.memory.append(round(sum(parts.values()), 1))
        for name in seen.parts.keys() | parts.keys():
            values = seen.parts.setdefault(name, [0.0] * (len(seen.memory) - 1))
            values.append(round(parts.get(name, 0.0), 1))


@dataclass(frozen=True, slots=True)
class WireMark:
    """How many bytes there have been so far."""

    logs: Mapping[str, int]
    loopback: int

    @classmethod
    def now(cls, broker_data: Path) -> WireMark:
        """Of a broker's logs, by topic, and of the loopback."""
        counters = psutil.net_io_counters(pernic=True).get("lo")
        return cls(log_bytes(broker_data), counters.bytes_sent if counters is not None else 0)

    def until(self, after: WireMark, sources: Sequence[str], sink: str) -> Wire:
        """What came between this and `after`; a log that was cut off counts as not grown."""
        grown = {topic: max(0, size - self.logs.get(topic, 0)) for topic, size in after.logs.items()}
        other = sum(size for topic, size in grown.items() if topic not in (*sources, sink))
        return Wire(
            input=sum(grown.get(source, 0) for source in sources),
            output=grown.get(sink, 0),
            other=other,
            loopback=max(0, after.loopback - self.loopback),
        )


def log_bytes(broker_data: Path) -> dict[str, int]:
    """Of each topic, the bytes of its segments in a broker's folder of logs (`topic-partition/*.log`)."""
    sizes: dict[str, int] = {}
    for segment in broker_data.glob("*/*.log"):
        topic = segment.parent.name.rpartition("-")[0]
        with contextlib.suppress(OSError):
            sizes[topic] = sizes.get(topic, 0) + segment.stat().st_size
    return sizes


def _leaders(parts: Parts) -> list[int]:
    return [pid for pids in parts.values() for pid in pids]


def _members(leaders: list[int]) -> list[int]:
    return [pid for leader in leaders if leader for pid in sessions.members(leader)]


def _cpu(leaders: list[int]) -> dict[int, float]:
    found = {}
    for pid in _members(leaders):
        with contextlib.suppress(psutil.Error):
            times = psutil.Process(pid).cpu_times()
            found[pid] = float(times.user + times.system)
    return found


def _busy_s() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


def _memory_mb(pid: int) -> float:
    with contextlib.suppress(psutil.Error):
        return float(psutil.Process(pid).memory_full_info().pss / 1e6)
    return 0.0
