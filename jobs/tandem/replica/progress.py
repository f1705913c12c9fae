"""How far a replica is behind, and when it tells the orderers so that they leave it room."""

from __future__ import annotations

from collections import deque
from statistics import median

from tandem.protocol.values import Progress


class CatchUp:
    """Times this replica's epochs, and reports while it lags by `lagging_epochs` or more, every `every_ms`."""

    def __init__(self, replica: str, last_computed: int, lagging_epochs: int = 3, every_ms: float = 250.0) -> None:
        self.last_computed = last_computed
        self._replica = replica
        self._lagging_epochs = lagging_epochs
        self._every_ms = every_ms
        self._durations: deque[float] = deque(maxlen=9)
        self._last_ms: float | None = None
        self._reported_ms = -float("inf")

    def computed(self, epoch: int, now_ms: float) -> None:
        """Epoch `epoch` is computed."""
        if self._last_ms is not None:
            self._durations.append(now_ms - self._last_ms)
        self._last_ms, self.last_computed = now_ms, epoch

    def report(self, head: int, now_ms: float) -> Progress | None:
        """What to append to the ordering log now, if anything."""
        behind = head - self.last_computed
        if behind < self._lagging_epochs or not self._durations or now_ms - self._reported_ms < self._every_ms:
            return None
        self._reported_ms = now_ms
        return Progress(self._replica, self.last_computed, median(self._durations))
