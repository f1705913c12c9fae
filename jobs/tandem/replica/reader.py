"""The one reader of a replica's logs: a thread that hands on what it reads in the ordering log and the commits topic."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from tandem.core.events import LogRecord, MarkerRecord
from tandem.engine.interface import StoppedError
from tandem.kafka.errors import ReadTimeoutError
from tandem.kafka.probe import EndProbe
from tandem.replica.failure import FirstFailure
from tandem.replica.log_events import LogEvents

_POLL_S = 0.05
_PROBE_S = 0.1
"""As long as the tail itself may need to learn that it is at an end."""

OnRead = Callable[[LogRecord | MarkerRecord], None]


class LogReader:
    """Reads `events` from `start` on, until `stop`.

    Parameters
    ----------
    on_read : is given each record, in the order of each log, by the reader's thread.
    failure : is given what ends the reading.
    """

    def __init__(self, events: LogEvents, on_read: OnRead, failure: FirstFailure) -> None:
        self._events = events
        self._on_read = on_read
        self._failure = failure
        self._passed: Mapping[str, int] = dict(events.tail.next_offsets)
        self._news = threading.Condition()
        self._stopped = False
        self._probe: EndProbe | None = None
        self.is_behind = True
        """Whether the brokers are known to have records that were not handed on yet."""
        self._thread = threading.Thread(target=self._run, name="log-reader", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """End the reading."""
        self._stopped = True
        with self._news:
            self._news.notify_all()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        self._events.tail.close()
        if self._probe is not None:
            self._probe.close()

    def expect(self) -> None:
        """`read_to_end` may be needed soon: connect what makes it faster. By the thread that calls that."""
        if self._probe is None:
            self._probe = self._events.tail.probe()

    def read_to_end(self, timeout_s: float) -> None:
        """Return when all is handed on up to the ends that both logs have now, open transactions included.

        Raises `ReadTimeoutError` if they are not reached within `timeout_s`, `StoppedError`.
        """
        deadline = time.monotonic() + timeout_s
        ends = self._events.tail.ends(timeout_s)
        needed = ends if self._probe is None else self._probe.needed(self._passed, ends, _PROBE_S)

        def is_there() -> bool:
            return self._stopped or all(self._passed[topic] >= place for topic, place in needed.items())

        with self._news:
            if not self._news.wait_for(is_there, max(0.0, deadline - time.monotonic())):
                raise ReadTimeoutError(f"read to {dict(self._passed)} of {ends} in {timeout_s:.1f} s")
        if self._stopped:
            raise StoppedError

    def _run(self) -> None:
        try:
            while not self._stopped:
                for event in self._events.read(_POLL_S):
                    self._on_read(event)
                self.is_behind = self._events.tail.is_behind
                with self._news:
                    self._passed = dict(self._events.tail.next_offsets)
                    self._news.notify_all()
        except BaseException as error:
            self._failure.put(error)
            self._stopped = True
            with self._news:
                self._news.notify_all()
