"""The same for many things at once, on daemon threads: one that hangs in a call to a store does not keep a process alive."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")


def for_each(function: Callable[[Item], None], items: Iterable[Item], workers: int) -> None:
    """Call `function` with every item. If a call raises, no more are begun, and that is raised when the others are done."""
    waiting = deque(items)
    failures: list[BaseException] = []

    def work() -> None:
        while not failures:
            try:
                item = waiting.popleft()
            except IndexError:
                return
            try:
                function(item)
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(workers, len(waiting)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
