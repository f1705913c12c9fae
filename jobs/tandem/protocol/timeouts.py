"""How long is too long: a bound on somebody's silence that follows what was seen of it, and how long something lasts."""

import math
from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class AdaptiveTimeout:
    """An adaptive time-out: `factor` times the slowest of the last `window` answers, within [`least_ms`, `most_ms`].

    The slowest of a window, rather than mean and deviation (RFC 6298): answers here come in bursts with rare slow ones
    (a flush, a collection), and a take-over that was not needed costs more than one that comes some milliseconds later.
    Until `enough` answers were seen, the bound is `careful_ms` at least.
    """

    least_ms: float
    most_ms: float
    factor: float = 1.5
    window: int = 64
    enough: int = 1
    careful_ms: float = 0.0
    _seen: deque[float] = field(default_factory=deque, init=False)

    def observe(self, elapsed_ms: float) -> None:
        """An answer came after `elapsed_ms`."""
        if not math.isfinite(elapsed_ms) or elapsed_ms < 0:
            raise ValueError(f"an elapsed time must be finite and not negative, got {elapsed_ms} ms")
        self._seen.append(elapsed_ms)
        if len(self._seen) > self.window:
            self._seen.popleft()

    @property
    def ms(self) -> float:
        """The bound now. Before anything was seen it is the most."""
        if not self._seen:
            return self.most_ms
        least = self.least_ms if len(self._seen) >= self.enough else max(self.least_ms, self.careful_ms)
        return min(self.most_ms, max(least, self.factor * max(self._seen)))


class Stopwatch:
    """Asked now and then whether something is so; times are ms of any monotonic clock."""

    def __init__(self) -> None:
        self._since: float | None = None

    def ms(self, is_so: bool, now_ms: float) -> float:
        """For how long; 0 when it begins, and while it is not so."""
        if not is_so:
            self._since = None
        elif self._since is None:
            self._since = now_ms
        return 0.0 if self._since is None else now_ms - self._since
