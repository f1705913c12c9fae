"""A process that a supervisor starts again at once: it looks every 20 ms."""

from __future__ import annotations

import os
import signal
import threading

from tandem.local import sessions
from tandem.process.child import ChildProcess, Command

_LOOK_S = 0.02


def pin_to_first_core(pid: int) -> None:
    """Let a process run on the first core only, where that can be had."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))})


class Restarted:
    """One process on the first core, restarted at once after a kill; not if it ends by itself."""

    def __init__(self, name: str, command: Command) -> None:
        self._name, self._command = name, command
        self._child: ChildProcess | None = None
        self._restarts = 0
        self._expected = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="supervisor", daemon=True)

    @property
    def pids(self) -> list[int]:
        """The process that leads its session, once there is one."""
        return [self._child.pid] if self._child is not None else []

    def start(self) -> None:
        """Start it, and watch."""
        self._launch()
        self._watcher.start()

    def check(self) -> None:
        """Raises `RuntimeError` if it has ended by itself."""
        child = self._child
        if child is not None and self._restarts > self._expected:
            raise RuntimeError(f"{self._name} ended by itself: {child.story()}")

    def kill(self) -> None:
        """SIGKILL to all processes of its session."""
        with self._lock:
            self._expected += 1
            child = self._child
        if child is not None:
            sessions.end(child.pid)

    def send(self, number: signal.Signals) -> None:
        """SIGSTOP or SIGCONT to all processes of its session."""
        child = self._child
        if child is not None:
            sessions.send(child.pid, number)

    def stop(self) -> None:
        """End it for good."""
        self._stopping.set()
        if self._watcher.is_alive():
            self._watcher.join()
        if self._child is not None:
            sessions.end(self._child.pid)
            self._child.kill()

    def _launch(self) -> None:
        child = ChildProcess(self._name, self._command)
        pin_to_first_core(child.pid)
        self._child = child

    def _watch(self) -> None:
        while not self._stopping.wait(_LOOK_S):
            child = self._child
            if child is not None and not child.running:
                sessions.end(child.pid)
                with self._lock:
                    self._restarts += 1
                    expected = self._restarts <= self._expected
                if not expected:
                    return
                self._launch()
