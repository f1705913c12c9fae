"""The same for many things at once."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def for_each(function: Callable[[Item], None], items: Iterable[Item], workers: int) -> None:
    """Call `function` with every item. If a call raises, no more are begun, and that is raised when the others are done."""
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(function, items))
