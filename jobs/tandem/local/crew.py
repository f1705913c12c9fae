"""All processes of a job together: planned from its manifest, found by name or refused, and ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence

from tandem.local import sessions
from tandem.local.errors import LocalJobError, NotRunningError, UnknownProcessError
from tandem.local.plan import PlannedProcess, planned_processes
from tandem.local.rundir import ProcessState, RunDirectory
from tandem.local.slot import Slot
from tandem.manifest import Manifest
from tandem.process.child import ChildProcess, Command
from tandem.waiting import Deadline, wait_until

ArgvOf = Callable[[PlannedProcess], tuple[str, ...]]


class Crew:
    """A slot for each process, replicas first. Not thread-safe: its owner holds a lock.

    Parameters
    ----------
    argv_of : the command line of a process.
    pin_to_cores : keep processes i of each kind on core i of those that we may use.

    Raises
    ------
    LocalJobError
        This system cannot keep processes on cores.
    """

    def __init__(self, manifest: Manifest, directory: RunDirectory, argv_of: ArgvOf, pin_to_cores: bool) -> None:
        if pin_to_cores and not hasattr(os, "sched_getaffinity"):
            raise LocalJobError("this system cannot keep processes on cores: leave pinning out")
        cores = sorted(os.sched_getaffinity(0)) if pin_to_cores else []
        self._job = manifest.name
        self._slots: dict[str, Slot] = {}
        for plan in planned_processes(manifest):
            command = Command(argv_of(plan), directory.log_file(plan.name))
            self._slots[plan.name] = Slot(plan, command, cores[plan.index % len(cores)] if cores else None)

    def __iter__(self) -> Iterator[Slot]:
        return iter(self._slots.values())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all processes: replicas first."""
        return tuple(self._slots)

    @property
    def states(self) -> tuple[ProcessState, ...]:
        """How every process stands."""
        return tuple(slot.state for slot in self)

    @property
    def children(self) -> list[ChildProcess]:
        """The runs that have not been seen to end."""
        return [slot.child for slot in self if slot.child is not None]

    def slot(self, name: str) -> Slot:
        """The slot of a process. Raises `UnknownProcessError`."""
        try:
            return self._slots[name]
        except KeyError:
            raise UnknownProcessError(f"{self._job} has no process {name}: it has {', '.join(self._slots)}") from None

    def running(self, name: str) -> ChildProcess:
        """The run of a process. Raises `NotRunningError`, `UnknownProcessError`."""
        slot = self.slot(name)
        if slot.child is None or not slot.child.running:
            raise NotRunningError(f"{name} is not running; its log is {slot.command.log_file}")
        return slot.child


def end_all(children: Sequence[ChildProcess], deadline_s: float) -> None:
    """SIGTERM to all, SIGKILL to what is left after `deadline_s`. Nothing of them runs afterwards."""
    for child in children:
        sessions.send(child.pid, signal.SIGTERM)
        sessions.send(child.pid, signal.SIGCONT)  # a paused process would not even see SIGTERM
    wait_until(lambda: not any(child.running for child in children), Deadline(deadline_s))
    for child in children:
        sessions.end(child.pid)
        child.kill()
