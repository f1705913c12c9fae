"""Waiting for what other processes do, and letting time pass."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil

from tandem.waiting import Deadline, wait_until

PATIENCE_S = 30.0


def eventually(condition: Callable[[], bool], within_s: float = PATIENCE_S) -> bool:
    return wait_until(condition, Deadline(within_s))


def for_a_while(seconds: float, why: str) -> None:
    """Let time pass where time is what the test is about, and nothing is waited for. `why` is shown if the test fails."""
    print(f"{seconds:.0f} s pass: {why}")
    time.sleep(seconds)


def gone(pid: int) -> bool:
    """Whether nothing of the process is left that could hold a port or a file (a zombie is only an entry in a table)."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
