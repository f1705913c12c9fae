"""Handlers of SIGTERM and SIGINT in the job's code: a program ends by them, but a replica has its own, which hand over."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tandem.engine.users_code import replaced, users_line
from tandem.logs import get_logger
from tandem.process.info import STOPS

_log = get_logger(__name__)


@contextmanager
def handlers_ignored() -> Iterator[None]:
    """In the block, `signal.signal` leaves the handlers of `STOPS` in this process as they are, and says so in the log."""
    with replaced(signal, "signal", _passing_over(signal.signal, os.getpid())):
        yield


def _passing_over(original: Callable[..., Any], process: int) -> Callable[..., Any]:
    def set_handler(signalnum: int, handler: Any) -> Any:
        if signalnum not in STOPS or os.getpid() != process:
            return original(signalnum, handler)
        _log.warning(
            "signal_handler_ignored",
            signal=signal.Signals(signalnum).name,
            line=users_line(),
            reason="Tandem handles it: a replica hands its work over and ends. What the code does in the end is not done",
        )
        return signal.getsignal(signalnum)

    set_handler.__name__, set_handler.__doc__ = original.__name__, original.__doc__
    return set_handler
