"""Faults that are made on purpose while a system is measured: strikes, each at a moment, and a processor that is short."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from tandem.local import sessions

Kind = Literal["kill", "pause", "kill-all", "kill-in-turn"]
KINDS: Final[tuple[Kind, ...]] = ("kill", "pause", "kill-all", "kill-in-turn")
OF_ALL: Final[tuple[Kind, ...]] = ("kill-all", "kill-in-turn")
PAUSE_S: Final = 5.0
"""How long who is paused stands still: longer than anybody waits for it."""
TURN_S: Final = 5.0
"""Between two kills in turn, as in the evaluation of Clonos (section 6)."""
SLOW_SHARE: Final = 0.25
"""How much of its processor a slow replica has."""
_PERIOD_S: Final = 0.04
_LOOK_EVERY: Final = 50  # periods


class Target(Protocol):
    """What a strike does to a system."""

    def kill(self, replica: str) -> None:
        """SIGKILL to a replica and what stands beside it; it is restarted at once."""

    def pause(self, replica: str) -> None:
        """SIGSTOP to a replica and what stands beside it: connections stay open, nothing is answered."""

    def resume(self, replica: str) -> None:
        """SIGCONT after `pause`."""


@dataclass(frozen=True, slots=True)
class Strike:
    """A fault at a moment.

    `kill` : SIGKILL of one. `pause`: it stands still for `PAUSE_S`, as in a long garbage collection, and then goes on.
    `kill-all` : SIGKILL of all at once. `kill-in-turn`: of all, `TURN_S` one after the other, in a random order.
    """

    kind: Kind
    victims: tuple[str, ...]

    @classmethod
    def drawn(cls, kinds: Sequence[Kind], actives: Iterable[str], chance: random.Random) -> Strike:
        """Of one of the kinds, of a random active replica, or all of them."""
        kind, names = chance.choice(kinds), sorted(actives)
        return cls(kind, tuple(chance.sample(names, len(names) if kind in OF_ALL else 1)))

    def hit(self, system: Target, spend: Callable[[float], None]) -> None:
        """Carry it out; `spend` lets seconds pass."""
        if self.kind == "pause":
            for victim in self.victims:
                system.pause(victim)
            try:
                spend(PAUSE_S)
            finally:
                for victim in self.victims:
                    system.resume(victim)
            return
        if self.kind == "kill-in-turn":
            for number, victim in enumerate(self.victims):
                spend(TURN_S if number else 0.0)
                system.kill(victim)
            return
        with ThreadPoolExecutor(len(self.victims), "kill") as pool:
            list(pool.map(system.kill, self.victims))

    def __str__(self) -> str:
        return f"{self.kind} of {' and '.join(self.victims)}"


@contextmanager
def slowed(leaders: Callable[[], Iterable[int]], share: float = SLOW_SHARE) -> Iterator[None]:
    """Let all processes of some sessions run only for `share` of the time, as under a quota of processor time.

    They run and stand still by turns, 40 ms together: a quota of the kernel does the same, and needs rights that not every
    machine gives.
    """
    stopping = threading.Event()
    thread = threading.Thread(target=_slow, args=(leaders, share, stopping), name="slow", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def _slow(leaders: Callable[[], Iterable[int]], share: float, stopping: threading.Event) -> None:
    pids: list[int] = []
    turn = 0
    try:
        while not stopping.is_set():
            if turn % _LOOK_EVERY == 0:  # a process may have children since
                pids = [pid for leader in leaders() if leader for pid in sessions.members(leader)]
            turn += 1
            _send(pids, signal.SIGSTOP)
            stopping.wait(_PERIOD_S * (1 - share))
            _send(pids, signal.SIGCONT)
            stopping.wait(_PERIOD_S * share)
    finally:
        _send(pids, signal.SIGCONT)


def _send(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
