"""Sets of numbers that cost little memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

_PAGE_BITS = 12
_IN_PAGE = (1 << _PAGE_BITS) - 1


class Bitmap:
    """A set of indices: a bit each, in pages of 4,096, so that one absurdly high index costs no more than a page."""

    __slots__ = ("_pages", "_size")

    def __init__(self) -> None:
        self._pages: dict[int, int] = {}
        self._size = 0

    def add(self, index: int) -> bool:
        """Add an index; whether it was new."""
        page, bit = index >> _PAGE_BITS, 1 << (index & _IN_PAGE)
        old = self._pages.get(page, 0)
        if old & bit:
            return False
        self._pages[page] = old | bit
        self._size += 1
        return True

    def __len__(self) -> int:
        return self._size

    def absent_below(self, end: int, most: int) -> list[int]:
        """The first `most` indices below `end` that are not in the set."""
        absent: list[int] = []
        for index in range(end):
            if len(absent) == most:
                break
            if not self._pages.get(index >> _PAGE_BITS, 0) >> (index & _IN_PAGE) & 1:
                absent.append(index)
        return absent


class Runs:
    """A set of numbers as runs without gaps: what is contiguous, as epochs are, costs two numbers in all.

    >>> runs = Runs()
    >>> [runs.add(number) for number in (3, 1, 2, 2, 7)]
    [True, True, True, False, True]
    >>> list(runs.gaps(0))
    [range(0, 1), range(4, 7)]
    """

    __slots__ = ("_ends", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._starts, number) - 1
        return at >= 0 and number < self._ends[at]

    def add(self, number: int) -> bool:
        """Add a number; whether it was new."""
        at = bisect_right(self._starts, number)  # the first run that begins after it
        if at and number < self._ends[at - 1]:
            return False
        joins_left = at > 0 and self._ends[at - 1] == number
        joins_right = at < len(self._starts) and self._starts[at] == number + 1
        if joins_left and joins_right:
            self._ends[at - 1] = self._ends.pop(at)
            self._starts.pop(at)
        elif joins_left:
            self._ends[at - 1] += 1
        elif joins_right:
            self._starts[at] -= 1
        else:
            self._starts.insert(at, number)
            self._ends.insert(at, number + 1)
        return True

    def __len__(self) -> int:
        return sum(self._ends) - sum(self._starts)

    @property
    def first(self) -> int | None:
        """The lowest number."""
        return self._starts[0] if self._starts else None

    @property
    def last(self) -> int | None:
        """The highest number."""
        return self._ends[-1] - 1 if self._ends else None

    def gaps(self, start: int) -> Iterator[range]:
        """What is missing between `start` and the highest number."""
        for low, high in zip(self._starts, self._ends, strict=True):
            if low > start:
                yield range(start, low)
            start = high
