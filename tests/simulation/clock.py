"""Simulated time: a heap of events, and the processes they happen to."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Call = Callable[..., Any]


class Life:
    """What may die, pause and come back. An event of an earlier life never happens; one of a paused life waits."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.life = 0
        self.alive = False
        self.paused_until = 0.0


class Timeline:
    """Events in the order of their time (ms), and of their planning where times are equal."""

    def __init__(self) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, int, Life | None, int, Call, tuple[Any, ...]]] = []
        self._planned = 0

    def at(self, time: float, whose: Life | None, call: Call, *args: Any) -> None:
        """Plan a call; `whose` None: it is nobody's, and no pause or death stops it."""
        self._planned += 1
        heappush(self._heap, (time, self._planned, whose, 0 if whose is None else whose.life, call, args))

    def after(self, delay: float, whose: Life | None, call: Call, *args: Any) -> None:
        """Plan a call `delay` ms from now."""
        self.at(self.now + delay, whose, call, *args)

    def step(self) -> bool:
        """Let the next event happen; False if there is none."""
        if not self._heap:
            return False
        time, number, whose, life, call, args = heappop(self._heap)
        if whose is not None:
            if whose.life != life or not whose.alive:
                return True
            if whose.paused_until > time:
                heappush(self._heap, (whose.paused_until, number, whose, life, call, args))
                return True
        self.now = time
        call(*args)
        return True
