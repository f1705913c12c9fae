"""All processes of a session: a replica with its JVM and the Python workers of that.

A process group is not enough: PySpark's worker daemon moves into a group of its own, but stays in the session.
"""

import contextlib
import os
import signal

import psutil

from tandem.waiting import Deadline, wait_until


def members(session: int) -> list[int]:
    """Process ids in the session that `session` began, zombies left out."""
    return [pid for pid in psutil.pids() if _session_of(pid) == session and not _is_zombie(pid)]


def send(session: int, number: signal.Signals) -> None:
    """SIGKILL, SIGSTOP and SIGCONT go to every process of the session; others only to its leader, which acts on them."""
    if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT):
        with contextlib.suppress(ProcessLookupError):
            os.kill(session, number)
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(session, number)
    for pid in members(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def is_stopped(pid: int) -> bool:
    """Whether a process is frozen by SIGSTOP."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except psutil.NoSuchProcess:
        return False


def end(session: int, deadline_s: float = 10.0) -> bool:
    """SIGKILL whatever is in the session, what is being forked meanwhile too; return whether nothing is left."""

    def killed() -> bool:
        send(session, signal.SIGKILL)
        return not members(session)

    return wait_until(killed, Deadline(deadline_s))


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except (ProcessLookupError, PermissionError):
        return -1


def _is_zombie(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
