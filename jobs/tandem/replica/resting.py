"""Clients that do nothing for a while: librdkafka keeps what they have to say until they are polled, and it piles up."""

import time
from collections.abc import Callable
from typing import Final

REST_S: Final = 5.0


class Resting:
    """Calls `serve`, each of them, once in `every_s`; to be called itself as often as one likes, by one thread.

    `clock_s` : any monotonic clock, s.
    """

    def __init__(
        self,
        *serve: Callable[[], None],
        every_s: float = REST_S,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._serve, self._every_s, self._clock_s = serve, every_s, clock_s
        self._next_s = clock_s()

    def __call__(self) -> None:
        """Serve the clients, if it is time."""
        now_s = self._clock_s()
        if now_s >= self._next_s:
            self._next_s = now_s + self._every_s
            for serve in self._serve:
                serve()
