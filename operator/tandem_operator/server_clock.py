"""The API server's clock. It writes when objects were made, and their ages are compared with that, not with our own clock.

What kubelets write (when a container began, when a condition changed) is of their nodes' clocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Final

_SAME_MS: Final = 5_000
"""Clocks that differ by less count as the same: `Date` has whole seconds, and the rest of a long answer takes a while."""


class ServerClock:
    """Our own clock, corrected by the `Date` of the API server's last answer. Safe for several threads.

    `own_ms` : our wall clock, ms since 1970.
    """

    def __init__(self, own_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._own_ms = own_ms
        self._ahead_ms = 0

    def saw(self, date: str) -> None:
        """An answer has just come, with that header; one that is no date says nothing."""
        try:
            server_ms = int(parsedate_to_datetime(date).timestamp() * 1000)
        except ValueError:
            return
        ahead_ms = server_ms - self._own_ms()
        self._ahead_ms = ahead_ms if abs(ahead_ms) > _SAME_MS else 0

    def now_ms(self) -> int:
        """The API server's time, ms since 1970; our own as long as it has not answered."""
        return self._own_ms() + self._ahead_ms
