"""Keeps the processes of a job at work: each look sees who ended, and starts who is due or asked for."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from tandem.local.crew import Crew
from tandem.local.outcome import Event, Outcome, outcome_of, refusal
from tandem.local.restarts import RestartPolicy, Then
from tandem.local.rundir import RunDirectory, RunningJob
from tandem.local.slot import Slot
from tandem.manifest import Manifest, load


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
        job_ran = any(slot.came_up for slot in self._crew)
        for slot in self._crew:
            ended = slot.check(self._policy, restarting, job_ran)
            if ended is not None:
                changed = True
                self.note(slot, ended.text)
                if ended.decision.then is Then.STOP_JOB:
                    return refusal(slot, ended)
            if slot.due is not None and time.monotonic() >= slot.due:
                changed = True
                slot.launch()
        if changed:
            self.announce()
            return outcome_of(list(self._crew))
        return None

    def end(self) -> None:
        """All processes have ended: forget them, and give the run directory up."""
        for slot in self._crew:
            slot.put_down()
        if self._lock is not None:
            self._directory.withdraw()
            self._lock.close()
            self._lock = None

    def note(self, slot: Slot, text: str) -> None:
        """Something happened to a process."""
        self._events.append(Event(time.time(), slot.plan.name, text))

    def announce(self) -> None:
        """Tell other commands how the processes stand."""
        name, path = self.manifest.name, self.manifest.path
        self._directory.announce(RunningJob(name, path, os.getpid(), self._started_at, self._crew.states))

    def _start_as_asked(self) -> bool:
        """Start the processes that another command asked for; whether there were any."""
        asked = {request.process: request for request in self._directory.take_requests()}
        slots = [slot for slot in self._crew if slot.plan.name in asked]
        for slot in slots:
            request = asked[slot.plan.name]
            slot.obey(request)
            if request.manifest:
                self.manifest = load(Path(request.manifest))
            self.start([slot])
        return bool(slots)
