"""Which record of an epoch makes it fail: found by computing shorter and shorter beginnings of the epoch. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Attempt = Callable[[Sequence[int]], BaseException | None]
"""Compute these rows of the epoch on the state before it; what that fails with, None if it does not."""


@dataclass(frozen=True, slots=True)
class Culprit:
    """`row` makes the epoch fail with `error`; not `alone`: only together with rows before it in the epoch."""

    row: int
    alone: bool
    error: BaseException


def first_culprit(rows: Sequence[int], attempt: Attempt, error: BaseException, passing: int = 0) -> Culprit | None:
    """The last row of the shortest beginning of `rows` that fails; None if no row at all fails, too.

    About log2(len(rows)) + 2 attempts. A function of the rows and of what `attempt` does with them, so that replicas that
    compute the same find the same.

    `rows` : of the epoch, in their order; known to fail, with `error`.
    `passing` : so many of the first rows are known not to fail.
    """
    low, high = passing, len(rows)
    while high - low > 1:
        middle = (low + high) // 2
        failed = attempt(rows[:middle])
        if failed is None:
            low = middle
        else:
            high, error = middle, failed
    if not rows or (low == 0 and attempt(()) is not None):
        return None
    row = rows[high - 1]
    failed = attempt((row,))
    return Culprit(row, failed is not None, failed or error)
