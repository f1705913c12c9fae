"""What a replica that has not come up yet is waiting for: said in its log every minute, and in its report."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from tandem.engine.users_code import line_of_thread
from tandem.logs import get_logger

_log = get_logger(__name__)

EVERY_S: Final = 60.0


class Starting:
    """The steps of a start, which run in the thread that makes this, one after the other.

    Parameters
    ----------
    every_s : a step that lasts longer is spoken of, and again after as long.
    clock_s : any monotonic clock, s.
    """

    def __init__(self, every_s: float = EVERY_S, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._every_s, self._clock_s = every_s, clock_s
        self._caller = threading.get_ident()
        self._step, self._since_s = "", clock_s()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="starting", daemon=True)
        self._thread.start()

    def begins(self, step: str) -> None:
        """The next step: what it waits for, e.g. `Kafka: the job's topics`."""
        self._step, self._since_s = step, self._clock_s()

    def ends(self) -> None:
        """The replica has come up, or will not."""
        self._step = ""
        self._ended.set()

    @property
    def waits_for(self) -> str:
        """What it has been waiting for, for how long, and in which line of the job's code; "" before `every_s` are over."""
        step, seconds = self._step, self._clock_s() - self._since_s
        if not step or seconds < self._every_s:
            return ""
        line = line_of_thread(self._caller)
        return f"{step}, for {seconds:.0f} s" + (f"; the job's code is at {line}" if line else "")

    def _run(self) -> None:
        while not self._ended.wait(self._every_s):
            if waits_for := self.waits_for:
                _log.warning("still_starting", waits_for=waits_for)
