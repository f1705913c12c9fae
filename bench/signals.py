"""Ending a bench from outside leaves nothing behind."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Never


def interrupt_on_sigterm() -> None:
    """Take SIGTERM as Ctrl-C: what was started is taken down on the way out."""
    signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_number: int, _frame: FrameType | None) -> Never:
    raise KeyboardInterrupt
