"""The processes of a job together: planned from its manifest, found by name, kept at work, and ended."""

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from tandem.local import sessions
from tandem.local.errors import LocalJobError, NotRunningError, UnknownProcessError
from tandem.local.outcome import Event, Outcome, outcome_of, refusal
from tandem.local.plan import PlannedProcess, planned_processes
from tandem.local.restarts import RestartPolicy, Then
from tandem.local.rundir import ProcessState, RunDirectory, RunningJob
from tandem.local.slot import Slot
from tandem.manifest import Manifest, ManifestError, UnknownLaneError, load
from tandem.process.child import ChildProcess, Command
from tandem.process.errors import ServerError
from tandem.replica.java_folder import java_folders
from tandem.replica.leftovers import remove_of_all_dead
from tandem.waiting import Deadline, wait_until

ArgvOf = Callable[[PlannedProcess], tuple[str, ...]]


class Crew:
    """A slot for each process, replicas first. Not thread-safe: its owner holds a lock.

    `argv_of` : the command line of a process.
    `pin_to_cores` : keep process i of each kind, in lane l, on core i + l of those that we may use.

    Raises `LocalJobError`: this system cannot keep processes on cores.
    """

    def __init__(self, manifest: Manifest, directory: RunDirectory, argv_of: ArgvOf, pin_to_cores: bool) -> None:
        if pin_to_cores and not hasattr(os, "sched_getaffinity"):
            raise LocalJobError("this system cannot keep processes on cores: leave pinning out")
        cores = sorted(os.sched_getaffinity(0)) if pin_to_cores else []
        self._job = manifest.name
        self._slots: dict[str, Slot] = {}
        for plan in planned_processes(manifest):
            command = Command(argv_of(plan), directory.log_file(plan.name))
            place = plan.index + (plan.lane or 0)
            self._slots[plan.name] = Slot(plan, command, cores[place % len(cores)] if cores else None)

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


class Keeper:
    """Keeps a crew, and tells other commands of it in the run directory. Not thread-safe: its owner holds a lock.

    `manifest`: the one that the job runs by now; it is another once somebody has asked for a start by another.
    """

    def __init__(self, manifest: Manifest, directory: RunDirectory, crew: Crew, policy: RestartPolicy) -> None:
        self.manifest = manifest
        self._directory = directory
        self._crew = crew
        self._policy = policy
        self._events: deque[Event] = deque(maxlen=200)
        self._is_unannounced = False
        self._lock: IO[str] | None = None
        self._started_at = 0.0

    @property
    def events(self) -> tuple[Event, ...]:
        """What happened lately, oldest first."""
        return tuple(self._events)

    def begin(self) -> None:
        """Take the run directory, unless that is done. Raises `AlreadyRunningError`."""
        if self._lock is None:
            self._lock = self._directory.acquire()
            self._started_at = time.time()

    def start(self, slots: Iterable[Slot]) -> None:
        """Start those that do not run, because somebody wants it."""
        for slot in slots:
            if not slot.running:
                slot.launch(by_hand=True)
                self.note(slot, "started")

    def look(self, restarting: bool) -> Outcome | None:
        """See who ended, start who is due; the outcome if the job is over. `restarting`: as `LocalJob.restarting`."""
        changed = self._start_as_asked()
        for slot in self._crew:
            ended = slot.check(self._policy, restarting, self._has_run)
            if ended is not None:
                changed = True
                self.note(slot, ended.text)
                if ended.decision.then is Then.STOP_JOB:
                    return refusal(slot, ended)
            if slot.due is not None and time.monotonic() >= slot.due:
                changed = True
                self._launch(slot)
        if changed or self._is_unannounced:
            self.announce()
        return outcome_of(list(self._crew)) if changed else None

    def end(self) -> None:
        """All processes have ended: forget them, remove what those that were killed left, and give the run directory up."""
        for slot in self._crew:
            slot.put_down()
        if self._lock is not None:
            for folder in filter(None, (self.manifest.checkpoint_directory, java_folders())):
                with suppress(OSError):  # what one that was killed has left, its successors would remove: none comes
                    remove_of_all_dead(folder)
            self._directory.withdraw()
            self._lock.close()
            self._lock = None

    def note(self, slot: Slot, text: str) -> None:
        """Something happened to a process."""
        self._events.append(Event(time.time(), slot.plan.name, text))

    def announce(self) -> None:
        """Tell other commands how the processes stand. Where that cannot be written, it is tried again at each look."""
        name, path, lane = self.manifest.name, self.manifest.path, self.manifest.lane
        try:
            self._directory.announce(RunningJob(name, path, os.getpid(), self._started_at, self._crew.states, lane))
        except OSError as error:
            if not self._is_unannounced:
                text = f"cannot write into {self._directory.path}: {error}; other commands see the job as it was"
                self._events.append(Event(time.time(), "supervisor", text))
            self._is_unannounced = True
        else:
            self._is_unannounced = False

    def _launch(self, slot: Slot, by_hand: bool = False) -> None:
        """Start a process; if that fails, it is tried again as often as one that ends."""
        try:
            slot.launch(by_hand)
        except (OSError, ServerError) as error:
            self.note(slot, slot.not_started(error, self._policy).text)

    def _has_run(self) -> bool:
        """Whether a replica has come up: only then is everything there that replicas need."""
        return any(slot.came_up or slot.is_up for slot in self._crew if slot.plan.kind == "replica")

    def _start_as_asked(self) -> bool:
        """Start the processes that another command asked for; whether there were any."""
        asked = {request.process: request for request in self._directory.take_requests()}
        slots = [slot for slot in self._crew if slot.plan.name in asked]
        for slot in slots:
            request = asked[slot.plan.name]
            slot.obey(request)
            if request.manifest:
                self._take_manifest(slot, Path(request.manifest))
            if not slot.running:
                self._launch(slot, by_hand=True)
                if slot.running:
                    self.note(slot, "started")
        return bool(slots)

    def _take_manifest(self, slot: Slot, path: Path) -> None:
        """From now on that is the job's; one that cannot be read now ends nothing: the processes have read it before."""
        try:
            self.manifest = load(path, self.manifest.lane)
        except (ManifestError, UnknownLaneError, OSError) as error:
            self.note(slot, f"runs {path}, which cannot be read now: {error}")
