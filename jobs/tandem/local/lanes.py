"""The lanes of a job that run on this machine, kept side by side: what happens to one does not concern the others."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from tandem.local.outcome import Event, Outcome
from tandem.local.supervisor import STOP_DEADLINE_S, LocalJob
from tandem.process.info import ExitCode


class LocalLanes:
    """Local jobs, each of them a lane; or the one job of a manifest without lanes."""

    def __init__(self, jobs: Sequence[LocalJob]) -> None:
        self.jobs = tuple(jobs)

    def start(self) -> None:
        """Start all; those that were started are stopped again if one cannot be. Raises as `LocalJob.start`."""
        try:
            for job in self.jobs:
                job.start()
        except BaseException:
            self.stop()
            raise

    def stop(self, deadline_s: float = STOP_DEADLINE_S) -> None:
        """Stop all, side by side: see `LocalJob.stop`."""
        with ThreadPoolExecutor(len(self.jobs), "stop") as pool:
            list(pool.map(lambda job: job.stop(deadline_s), self.jobs))

    def kill_all(self) -> None:
        """SIGKILL to everything that runs."""
        for job in self.jobs:
            job.kill_all()

    @property
    def outcome(self) -> Outcome | None:
        """Why the last lane that ran stopped by itself, with the worst of their codes; None while one runs."""
        if any(job.outcome is None for job in self.jobs):
            return None
        worst = self.worst
        return (
            worst
            if worst is None or len(self.jobs) == 1
            else replace(worst, reason=f"all have stopped; {worst.reason}")
        )

    @property
    def worst(self) -> Outcome | None:
        """Of the lanes that stopped by themselves so far, the one with the worst code; None: none has."""
        ended = [(job, job.outcome) for job in self.jobs]
        known = [(job, outcome) for job, outcome in ended if outcome is not None]
        if not known:
            return None
        job, worst = max(known, key=lambda one: one[1].code != ExitCode.OK)
        return worst if len(self.jobs) == 1 else replace(worst, reason=f"{job.name}: {worst.reason}")

    def events(self) -> list[Event]:
        """What happened lately, oldest first; with the lane's name if there are several."""
        if len(self.jobs) == 1:
            return list(self.jobs[0].events())
        named = ([replace(one, process=f"{job.name} {one.process}") for one in job.events()] for job in self.jobs)
        return list(heapq.merge(*named, key=lambda event: event.at))
