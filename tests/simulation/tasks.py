"""Blocking code of the product, run step by step on the simulated timeline: each of its calls to a server takes time.
Those are the snapshot store and ZooKeeper; to be cut off from Kafka does not concern them.

The code runs in a greenlet, which it leaves for each of its calls. Between two of them whatever may happen to the process
happens: it pauses, or it dies and the code with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from greenlet import getcurrent, greenlet

from tandem.coordination.zookeeper import ZOOKEEPER_ERRORS
from tandem.snapshots import SnapshotError

if TYPE_CHECKING:
    from simulation.process import Process

Request = Callable[[bool], Any]
"""What the server does; its argument: whether the process has died since it asked."""


class Killed(BaseException):
    """Raised inside the product's code: its process is dead."""


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
        self._code = greenlet(self._run)
        process.world.tasks.append(self)
        self._go_on()

    def call(self, step: str, request: Request) -> Any:
        """From inside: have a server do something. Raises what the server answers with. `step` names it for failures."""
        if isinstance(self._error, Killed):
            raise self._error
        self._request = step, request
        assert self._code.parent is not None
        self._code.parent.switch()
        if self._error is not None:
            raise self._error
        return self._answer

    def kill(self) -> None:
        """Let the code end, if it has not."""
        if not self.ended:
            self._error = Killed()
            self._switch()

    def _run(self) -> None:
        try:
            self._result = self._body(self)
        except Killed:
            pass
        except BaseException as failure:
            self._failure = failure
        self.ended = True

    def _switch(self) -> None:
        self._code.parent = getcurrent()  # a call comes back to whoever let the code go on
        self._code.switch()

    def _go_on(self) -> None:
        self._switch()
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
