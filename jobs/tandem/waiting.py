"""Waiting for a condition, never longer than a deadline."""

import time
from collections.abc import Callable
from typing import Final

POLL_INTERVAL_S = 0.02
_REST = 4.0
"""A pause is at least so many times as long as the condition took: asking takes at most a fifth of a core."""
_LONGEST_REST_S = 0.25


class Deadline:
    """One monotonic budget, in seconds, shared by several waits."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock: Final = clock
        self._end = clock() + seconds

    @property
    def remaining_s(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._end - self.clock())

    @property
    def passed(self) -> bool:
        return self.remaining_s == 0.0


def wait_until(condition: Callable[[], bool], deadline: Deadline, interval_s: float = POLL_INTERVAL_S) -> bool:
    """Ask `condition` every `interval_s` until it holds or the deadline has passed; return its last answer.

    One that takes long to answer is asked less often, but at least every 0.25 s.
    """
    asked_s = deadline.clock()
    while not condition():
        if deadline.passed:
            return False
        rest_s = min(_REST * (deadline.clock() - asked_s), _LONGEST_REST_S)
        time.sleep(min(max(interval_s, rest_s), deadline.remaining_s))
        asked_s = deadline.clock()
    return True


def rest_of(
    seconds: float,
    began_s: float,
    clock_s: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Sleep until `seconds` have passed since `began_s`, by `clock_s`: between two tries that may each fail at once."""
    left_s = seconds - (clock_s() - began_s)
    if left_s > 0:
        sleep(left_s)
