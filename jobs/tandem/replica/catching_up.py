"""Says how far a replica that catches up is, and how long it will take: in the log every few seconds, and as metrics."""

from __future__ import annotations

from collections import deque
from typing import Any

from tandem.logs import get_logger
from tandem.metrics import ReplicaMetrics
from tandem.protocol.catching_up import Estimate, Standing, estimate

_log = get_logger(__name__)

UNKNOWN_S = -1.0
"""What the metric says while nobody can tell how long it will take."""


class CatchUpLog:
    """Fed often with where the replica stands, until it is at the head; and again when it has fallen behind.

    Parameters
    ----------
    every_ms, window_ms : how often it is logged, and over which time speeds are taken.
    """

    def __init__(self, metrics: ReplicaMetrics, every_ms: float = 3_000.0, window_ms: float = 10_000.0) -> None:
        self._metrics = metrics
        self._every_ms = every_ms
        self._window_ms = window_ms
        self._stood: deque[Standing] = deque()
        self._began: Standing | None = None
        self._logged_ms = 0.0

    def look(self, now: Standing, ready: bool) -> Estimate | None:
        """Where the replica stands now; the estimate if it was logged. A sample is taken twice a second at most."""
        if ready:
            self._arrived(now)
            return None
        if self._began is None:
            self._began, self._logged_ms = now, now.at_ms
        if self._stood and now.at_ms - self._stood[-1].at_ms < 500:
            return None
        self._stood.append(now)
        while now.at_ms - self._stood[0].at_ms > self._window_ms:
            self._stood.popleft()
        found = estimate(self._stood[0], now)
        self._metrics.catch_up_seconds.set(UNKNOWN_S if found.left_s is None else found.left_s)
        if found.behind == 0 or now.at_ms - self._logged_ms < self._every_ms:
            return None
        self._logged_ms = now.at_ms
        _log.info("catching_up", epoch=now.computed, **_words(found))
        return found

    def _arrived(self, now: Standing) -> None:
        if self._began is not None:
            elapsed_s = (now.at_ms - self._began.at_ms) / 1000
            _log.info(
                "caught_up", epoch=now.computed, epochs=now.computed - self._began.computed, s=round(elapsed_s, 1)
            )
        self._began = None
        self._stood.clear()
        self._metrics.catch_up_seconds.set(0)


def _words(found: Estimate) -> dict[str, Any]:
    left = None if found.left_s is None else round(found.left_s, 1)
    return {"epochs_behind": found.behind, "epochs_per_s": round(found.epochs_per_s, 1), "seconds_left": left}
