"""Blocking code of the product, run step by step on the simulated timeline: each of its calls to a server takes time.
Those are the snapshot store and ZooKeeper; to be cut off from Kafka does not concern them.

The code runs on a thread of its own, but never at the same time as anything else: a baton goes to and fro. Between two of
its calls whatever may happen to the process happens: it pauses, or it dies and the code with it.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from tandem.coordination.zookeeper import ZOOKEEPER_ERRORS
from tandem.snapshots import SnapshotError

if TYPE_CHECKING:
    from simulation.process import Process

Request = Callable[[bool], Any]
"""What the server does; its argument: whether the process has died since it asked."""


class Killed(BaseException):
    """Raised inside the product's code: its process is dead."""


class _Worker:
    """A thread that runs one body after another, each only while it has the baton."""

    def __init__(self) -> None:
        self.body: Callable[[], None]
        self._go, self._back = Lock(), Lock()
        self._go.acquire()
        self._back.acquire()
        Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            self._go.acquire()
            self.body()
            _idle.append(self)
            self._back.release()

    def go_on(self) -> None:
        """Hand the baton over, and wait until it comes back."""
        self._go.release()
        self._back.acquire()

    def rest(self) -> None:
        """From inside the body: give the baton back, and wait for it."""
        self._back.release()
        self._go.acquire()


_idle: list[_Worker] = []


class Task:
    """One call of blocking code. `done` gets its result, unless the process dies before."""

    def __init__(self, process: Process, body: Callable[[Task], Any], done: Callable[[Any], None]) -> None:
        self._process, self._body, self._done = process, body, done
        self._life = process.life
        self.began = process.world.timeline.now
        self._request: tuple[str, Request] | None = None
        self._answer: Any = None
        self._error: BaseException | None = None
        self._result: Any = None
        self._failure: BaseException | None = None
        self.ended = False
        self._worker = _idle.pop() if _idle else _Worker()
        self._worker.body = self._run
        process.world.tasks.append(self)
        self._go_on()

    def call(self, step: str, request: Request) -> Any:
        """From inside: have a server do something. Raises what the server answers with. `step` names it for failures."""
        if isinstance(self._error, Killed):
            raise self._error
        self._request = step, request
        self._worker.rest()
        if self._error is not None:
            raise self._error
        return self._answer

    def kill(self) -> None:
        """Let the code end, if it has not."""
        if not self.ended:
            self._error = Killed()
            self._worker.go_on()

    def _run(self) -> None:
        try:
            self._result = self._body(self)
        except Killed:
            pass
        except BaseException as failure:
            self._failure = failure
        self.ended = True

    def _go_on(self) -> None:
        self._worker.go_on()
        if not self.ended:
            assert self._request is not None
            self._process.world.reached(self._request[0], self._process)
            self._leave()
            return
        self._process.world.tasks.remove(self)
        if self._failure is not None:
            raise self._failure
        self._done(self._result)

    def _leave(self) -> None:
        process, world = self._process, self._process.world
        if not process.is_stopped(self._leave):
            world.timeline.after(world.delay(), None, self._arrive)

    def _arrive(self) -> None:
        process, world = self._process, self._process.world
        assert self._request is not None
        died = not process.alive or process.life != self._life
        try:
            self._answer, self._error = self._request[1](died), None
        except (OSError, SnapshotError, *ZOOKEEPER_ERRORS) as error:
            self._answer, self._error = None, error
        if not died:
            world.timeline.after(world.delay(), process, self._go_on)
