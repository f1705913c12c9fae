"""What stopped a replica: the first failure of any of its threads, with its cause."""

from __future__ import annotations

import threading

from tandem.engine.interface import StoppedError


class FirstFailure:
    """A cell that the first writer fills. All other failures follow from that one, or come too late to matter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._error: BaseException | None = None

    def put(self, error: BaseException) -> None:
        """Something failed. A `StoppedError` is none: it only says that something else did."""
        with self._lock:
            if self._error is None and not isinstance(error, StoppedError):
                self._error = error

    @property
    def error(self) -> BaseException | None:
        """The first failure; None: there is none."""
        return self._error
