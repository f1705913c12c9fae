"""Waiting for what other processes do."""

from __future__ import annotations

from collections.abc import Callable

import psutil

from tandem.embedded.waiting import Deadline, wait_until

PATIENCE_S = 30.0


def eventually(condition: Callable[[], bool], within_s: float = PATIENCE_S) -> bool:
    return wait_until(condition, Deadline(within_s))


def gone(pid: int) -> bool:
    """Whether nothing of the process is left that could hold a port or a file (a zombie is only an entry in a table)."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
