"""Whether a process is stuck, for whoever would restart it. A busy one is not stuck."""

from __future__ import annotations

import time
from collections.abc import Callable


class Health:
    """Stuck is: its main loop has not gone round for `loop_s`, or it is behind and has computed nothing for `epoch_s`.

    The second is generous: a single epoch may take minutes, and a restart would only begin it again.

    Parameters
    ----------
    clock_s : any monotonic clock, s.
    """

    def __init__(
        self, loop_s: float = 60.0, epoch_s: float = 600.0, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._loop_s, self._epoch_s, self._clock_s = loop_s, epoch_s, clock_s
        self._beat_s: float | None = None
        self._epoch = -1
        self._moved_s = clock_s()
        self._is_paused = False

    def beat(self) -> None:
        """The main loop goes round."""
        if self._is_paused:
            self._is_paused, self._moved_s = False, self._clock_s()
        self._beat_s = self._clock_s()

    def pause(self) -> None:
        """The main loop does something else that takes as long as it takes; the next beat ends that."""
        self._beat_s, self._is_paused = None, True

    def progress(self, epoch: int, behind: int) -> None:
        """It has computed `epoch`, and is so many epochs behind."""
        if epoch != self._epoch or behind <= 0:
            self._epoch, self._moved_s = epoch, self._clock_s()

    @property
    def is_stuck(self) -> bool:
        """Whether a restart would help. Never before the first beat, nor in a pause: starting takes as long as it takes."""
        if self._beat_s is None:
            return False
        now = self._clock_s()
        return now - self._beat_s > self._loop_s or now - self._moved_s > self._epoch_s
