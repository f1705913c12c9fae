"""A child process that writes to a log file, can be stopped, killed, paused, and never outlives this process."""

import contextlib
import functools
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from tandem.process import guard
from tandem.process.errors import ServerError
from tandem.waiting import Deadline, wait_until

KILL_DEADLINE_S = 10.0
PAUSE_DEADLINE_S = 10.0
TAIL_LINES = 25


@dataclass(frozen=True)
class Command:
    """What to run: an absolute program with its arguments, where its output goes (appended), and variables to add."""

    argv: tuple[str, ...]
    log_file: Path
    env: Mapping[str, str] = field(default_factory=dict)


class ChildProcess:
    """One run of a command, in a session of its own: Ctrl-C on the terminal reaches only the parent."""

    def __init__(self, name: str, command: Command) -> None:
        self.name = name
        self.command = command
        self._popen = _spawn(command)

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; −n if signal n ended it."""
        return self._popen.poll()

    @property
    def running(self) -> bool:
        return self.exit_code is None

    def wait(self, deadline_s: float) -> bool:
        """Wait for the end of the process; return whether it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(deadline_s)
        return not self.running

    def stop(self, deadline_s: float = 20.0, number: signal.Signals = signal.SIGTERM) -> None:
        """The signal, and SIGKILL if it still runs after `deadline_s`. Does nothing if it has ended."""
        self._send(number)
        self._send(signal.SIGCONT)  # a paused process would not even see the signal
        if not self.wait(deadline_s):
            self.kill()

    def kill(self) -> None:
        """SIGKILL, and wait until the process is gone."""
        self._send(signal.SIGKILL)
        if not self.wait(KILL_DEADLINE_S):
            raise ServerError(f"{self.name} (pid {self.pid}) is still there {KILL_DEADLINE_S:.0f} s after SIGKILL")

    def pause(self) -> None:
        """SIGSTOP, and wait until every thread of it stands: it keeps its connections and answers nothing."""
        self._send(signal.SIGSTOP)
        if not wait_until(lambda: not self.running or self._stands_still(), Deadline(PAUSE_DEADLINE_S)):
            raise ServerError(f"{self.name} (pid {self.pid}) still runs {PAUSE_DEADLINE_S:.0f} s after SIGSTOP")

    def resume(self) -> None:
        """SIGCONT after a pause."""
        self._send(signal.SIGCONT)

    def story(self) -> str:
        """How it ended, if it did, with the tail of its log; for error messages."""
        state = "is still running" if self.running else f"ended with exit code {self.exit_code}"
        return (
            f"{self.name} (pid {self.pid}) {state}; the end of {self.command.log_file}:\n{tail(self.command.log_file)}"
        )

    def _stands_still(self) -> bool:
        # The kernel reports a stop once its last thread has stopped; WNOWAIT leaves the report for the next who asks.
        return os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT | os.WNOHANG) is not None

    def _send(self, number: signal.Signals) -> None:
        # Popen itself refuses to signal a pid that it has already reaped.
        self._popen.send_signal(number)


def tail(log_file: Path, lines: int = TAIL_LINES, max_bytes: int = 16_384) -> str:
    """The last lines of a file, indented; "(empty)" if there is nothing to show."""
    try:
        with log_file.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - max_bytes))
            text = file.read().decode(errors="replace")
    except OSError as error:
        return f"    ({error.strerror})"
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:]) or "    (empty)"


_Popen = subprocess.Popen[bytes]
_Request = tuple[Command, "Future[_Popen]"]


def _spawn(command: Command) -> _Popen:
    started: Future[_Popen] = Future()
    _spawner(os.getpid()).put((command, started))
    return started.result(timeout=30)


@functools.cache
def _spawner(_pid: int) -> "queue.SimpleQueue[_Request]":
    """The queue of the thread that starts all children of this process (by pid: a fork has no threads of its parent).

    Linux ties a child's death to the *thread* that started it, so a child started by a short-lived thread would die with
    that thread. This one is a daemon that lives exactly as long as the process.
    """
    requests: queue.SimpleQueue[_Request] = queue.SimpleQueue()

    def serve() -> None:
        while True:
            command, started = requests.get()
            try:
                started.set_result(_popen(command))
            except Exception as error:
                started.set_exception(error)

    threading.Thread(target=serve, name="spawner", daemon=True).start()
    return requests


def guarded(argv: Sequence[str]) -> list[str]:
    """A command that dies with the thread that starts it, however that ends: it is to wait for the command."""
    return [sys.executable, "-I", "-S", str(Path(guard.__file__)), str(os.getpid()), *argv]


def _popen(command: Command) -> _Popen:
    with command.log_file.open("ab") as log:
        return subprocess.Popen(
            guarded(command.argv),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **command.env},
            start_new_session=True,
        )
