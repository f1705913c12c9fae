"""How far a replica is behind the log's head, how long it will take to it, and whether it is ready."""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from tandem.core.catch_up import CatchUp, Distance

_IDLE_MS = 3_000.0
"""A replica that has had nothing to compute for so long since its start is at the head: nobody cuts."""
_SAMPLE_MS = 500.0


class Position(NamedTuple):
    """Where a replica stood at `at_ms` (any monotonic clock): the last epoch that it computed, and the last that was cut."""

    at_ms: float
    computed: int
    head: int

    @property
    def behind(self) -> int:
        """Epochs between the two."""
        return max(0, self.head - self.computed)


@dataclass(frozen=True, slots=True)
class Estimate:
    """`behind` in epochs, `epochs_per_s` that the replica computes; `left_s` None: it comes no nearer, or who knows."""

    behind: int
    epochs_per_s: float = 0.0
    left_s: float | None = None


def estimate(before: Position, now: Position) -> Estimate:
    """The head moves on meanwhile: what counts is by how much the replica is faster.

    >>> estimate(Position(0, 100, 300), Position(2_000, 200, 320))
    Estimate(behind=120, epochs_per_s=50.0, left_s=3.0)
    """
    elapsed_s = (now.at_ms - before.at_ms) / 1000
    if now.behind == 0:
        return Estimate(0, left_s=0.0)
    if elapsed_s <= 0:
        return Estimate(now.behind)
    speed = (now.computed - before.computed) / elapsed_s
    nearing = speed - (now.head - before.head) / elapsed_s
    return Estimate(now.behind, speed, now.behind / nearing if nearing > 0 else None)


@dataclass(frozen=True, slots=True)
class Arrival:
    """The replica is at the head, `epochs` epochs and `elapsed_ms` after it had fallen behind."""

    epochs: int
    elapsed_ms: float


class CatchUpReport:
    """Fed often with where the replica stands, until it is at the head; and again when it has fallen behind.

    `every_ms`, `window_ms` : how often there is something to say, and over which time speeds are taken.
    """

    def __init__(self, every_ms: float = 3_000.0, window_ms: float = 10_000.0) -> None:
        self.left_s: float | None = None
        """Estimated time to the head, s; None: not known."""
        self._every_ms = every_ms
        self._window_ms = window_ms
        self._stood: deque[Position] = deque()
        self._began: Position | None = None
        self._said_ms = 0.0

    def look(self, now: Position, ready: bool) -> Estimate | Arrival | None:
        """Where the replica stands now; what is to be said of that, if anything. Takes a sample twice a second at most."""
        if ready:
            return self._arrived(now)
        if self._began is None:
            self._began, self._said_ms = now, now.at_ms
        if self._stood and now.at_ms - self._stood[-1].at_ms < _SAMPLE_MS:
            return None
        self._stood.append(now)
        while now.at_ms - self._stood[0].at_ms > self._window_ms:
            self._stood.popleft()
        found = estimate(self._stood[0], now)
        self.left_s = found.left_s
        if found.behind == 0 or now.at_ms - self._said_ms < self._every_ms:
            return None
        self._said_ms = now.at_ms
        return found

    def _arrived(self, now: Position) -> Arrival | None:
        began, self._began, self.left_s = self._began, None, 0.0
        self._stood.clear()
        return None if began is None else Arrival(now.computed - began.computed, now.at_ms - began.at_ms)


class Lag:
    """Follows `catch_up` and the log's head. Times are ms of one monotonic clock; `began_ms`: when the replica began.

    `ready` : whether the head was reached, and the replica has neither fallen far behind nor stood still since.
    """

    def __init__(self, catch_up: CatchUp, began_ms: float) -> None:
        self.ready = False
        self._catch_up = catch_up
        self._began_ms = began_ms
        self._report = CatchUpReport()

    @property
    def proved_epoch(self) -> int | None:
        """The last epoch computed; None while nothing shows that this replica can go on from its state."""
        return self._catch_up.last_computed if self._catch_up.has_computed or self.ready else None

    @property
    def left_s(self) -> float | None:
        """Estimated time to the head, s; None: not known."""
        return self._report.left_s

    def news(self, distance: Distance) -> None:
        """An epoch was computed, or a proposal accepted."""
        near = self._catch_up.near
        if near.is_at_head(distance) and self._catch_up.has_computed:
            self.ready = True
        elif near.is_far(distance):
            self.ready = False

    def look(self, distance: Distance, has_read_all: bool, now_ms: float) -> Estimate | Arrival | None:
        """Called often; what is to be said of the way to the head, if anything.

        `has_read_all`: as far as known nothing is left to read.
        """
        if distance.epochs == 0 and has_read_all and now_ms - self._began_ms > _IDLE_MS:
            self.ready = True
        if self._catch_up.stands_still(distance, now_ms):
            self.ready = False
        computed = self._catch_up.last_computed
        return self._report.look(Position(now_ms, computed, computed + distance.epochs), self.ready)
