"""Which job is looked at when: at once after an event, again after a while, later and later after failures.

One task for each job, so that no job waits for another one's pass but for the bound on how many run at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from tandem.logs import get_logger
from tandem_operator.api import ApiError
from tandem_operator.metrics import OperatorMetrics
from tandem_operator.store import Key

_log = get_logger(__name__)

Pass = Callable[[Key], Awaitable[float | None]]
"""A pass over one job; returns after how many seconds the next one is due, if nothing happens. None: the job is gone."""


@dataclass
class _Job:
    due: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    failures: int = 0


class Loop:
    """Calls `reconcile` for every job that was woken.

    `forgotten` : called with each job that is gone.
    `at_once` : so many passes at the same time.
    `first_s`, `most_s` : wait after the first failure of a job in a row, doubled for each further one, and the bound on
    that.
    `peace_s` : for so much of it events do not count.
    """

    def __init__(
        self,
        reconcile: Pass,
        metrics: OperatorMetrics,
        forgotten: Callable[[Key], None] = lambda _: None,
        at_once: int = 8,
        first_s: float = 1.0,
        most_s: float = 60.0,
        peace_s: float = 5.0,
    ) -> None:
        self._reconcile = reconcile
        self._metrics = metrics
        self._forgotten = forgotten
        self._room = asyncio.Semaphore(at_once)
        self._first_s, self._most_s, self._peace_s = first_s, most_s, peace_s
        self._jobs: dict[Key, _Job] = {}

    def wake(self, key: Key) -> None:
        """Look at the job soon; however often this is called before, it is one pass."""
        job = self._jobs.setdefault(key, _Job())
        job.due.set()
        self._count()
        if job.task is None:
            job.task = asyncio.create_task(self._run(key, job), name=f"job {key.namespace}/{key.name}")

    def forget(self, key: Key) -> None:
        """The job is gone."""
        job = self._jobs.pop(key, None)
        if job is not None and job.task is not None:
            job.task.cancel()
        self._forgotten(key)

    async def stop(self) -> None:
        """End all tasks."""
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        self._jobs.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, key: Key, job: _Job) -> None:
        again_s: float | None = 0.0
        while again_s is not None:
            await asyncio.sleep(min(again_s, self._peace_s) if job.failures else 0)
            with suppress(TimeoutError):
                await asyncio.wait_for(job.due.wait(), again_s or None)
            async with self._room:
                job.due.clear()
                self._count()
                again_s = await self._pass(key, job)
            if again_s is None and job.due.is_set():
                again_s = 0.0  # another one has its name by now
        if self._jobs.get(key) is job:
            del self._jobs[key]
            self._forgotten(key)

    def _count(self) -> None:
        self._metrics.queue_depth.set(sum(job.due.is_set() for job in self._jobs.values()))

    async def _pass(self, key: Key, job: _Job) -> float | None:
        with self._metrics.seconds.time():
            try:
                again_s = await self._reconcile(key)
            except Exception as error:
                job.failures += 1
                self._metrics.reconciled("failure")
                is_known = isinstance(error, ApiError)
                where = {"namespace": key.namespace, "job_name": key.name}
                _log.warning(
                    "pass_failed", **where, reason=str(error), kind=type(error).__name__, exc_info=not is_known
                )
                wait_s: float = self._first_s * 2 ** min(job.failures - 1, 16)
                return min(self._most_s, wait_s)
        job.failures = 0
        self._metrics.reconciled("success")
        return again_s
