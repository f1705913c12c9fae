"""A set of numbers that costs little memory."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain, islice


class Runs:
    """A set of numbers as runs without gaps: what is contiguous, as epochs are, costs two numbers in all.

    >>> runs = Runs()
    >>> [runs.add(number) for number in (3, 1, 2, 2, 7)]
    [True, True, True, False, True]
    >>> list(runs.gaps(0))
    [range(0, 1), range(4, 7)]
    """

    __slots__ = ("_ends", "_size", "_starts")

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._size = 0

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._starts, number) - 1
        return at >= 0 and number < self._ends[at]

    def add(self, number: int) -> bool:
        """Add a number; whether it was new."""
        at = bisect_right(self._starts, number)  # the first run that begins after it
        if at and number < self._ends[at - 1]:
            return False
        self._size += 1
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
        return self._size

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

    def absent_below(self, end: int, most: int) -> list[int]:
        """The first `most` numbers from 0 to below `end` that are not in the set."""
        behind = range(self._ends[-1] if self._ends else 0, end)
        gaps = (range(gap.start, min(gap.stop, end)) for gap in self.gaps(0))
        return list(islice(chain.from_iterable(chain(gaps, (behind,))), most))
