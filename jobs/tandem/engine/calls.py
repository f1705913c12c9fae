"""Calls to the outside world: bounded in number, in time and in how often they are made again."""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any

_TICK_S = 0.05


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that gave nothing, and why."""

    reason: str


class _HaltedError(Exception):
    """Nobody wants the results any more."""


class Calls:
    """Makes calls on threads of its own, at most `most` at a time.

    A thread cannot be ended from outside: a call that takes too long is given up, but keeps its place until it returns.
    If all places are kept so, further calls fail when their time is over. The threads never keep the process alive.
    """

    def __init__(self, most: int = 8) -> None:
        self._most = most
        self._places = threading.BoundedSemaphore(most)

    def make(
        self,
        function: Callable[[Any], Any],
        arguments: Sequence[Any],
        timeout_s: float,
        retries: int,
        halt: Callable[[], bool] = lambda: False,
    ) -> list[Any] | None:
        """The result for each argument, or a `Failure`; None, without waiting any longer, when `halt` says so."""
        results: dict[int, Any] = {}
        pending = dict(enumerate(arguments))
        try:
            for _ in range(1 + retries):
                results |= self._once(function, pending, timeout_s, halt)
                pending = {index: arguments[index] for index in pending if isinstance(results[index], Failure)}
                if not pending:
                    break
        except _HaltedError:
            return None
        return [results[index] for index in range(len(arguments))]

    def _once(
        self, function: Callable[[Any], Any], arguments: Mapping[int, Any], timeout_s: float, halt: Callable[[], bool]
    ) -> dict[int, Any]:
        waiting = deque(arguments)
        ends: dict[int, float] = {}
        results: dict[int, Any] = {}
        returned: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        idle_since = time.monotonic()
        while waiting or ends:
            while waiting and self._places.acquire(blocking=False):
                index = waiting.popleft()
                ends[index] = time.monotonic() + timeout_s
                self._begin(function, index, arguments[index], returned)
            try:
                index, result = returned.get(timeout=_TICK_S)
                if ends.pop(index, None) is not None:
                    results[index] = result
            except Empty:
                pass
            if halt():
                raise _HaltedError
            now = time.monotonic()
            for index in [index for index, end in ends.items() if now >= end]:
                del ends[index]
                results[index] = Failure(f"no answer within {timeout_s:g} s")
            idle_since = now if ends else idle_since
            if waiting and now - idle_since >= timeout_s:
                none = Failure(f"all {self._most} places are kept by calls that do not return")
                return results | dict.fromkeys(waiting, none)
        return results

    def _begin(
        self, function: Callable[[Any], Any], index: int, argument: Any, returned: SimpleQueue[tuple[int, Any]]
    ) -> None:
        def run() -> None:
            result: Any
            try:
                result = function(argument)
            except BaseException as error:
                result = Failure(f"{type(error).__name__}: {error}")
            finally:
                self._places.release()
            returned.put((index, result))

        threading.Thread(target=run, name="outside-call", daemon=True).start()
