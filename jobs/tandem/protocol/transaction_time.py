"""How long a transaction may take until it is given up: longer if one epoch is not published in that time. Pure.

And how long it may well take for what it holds, so that nobody takes over from an owner that is still at work.
"""

from typing import Final

FIRST_S: Final = 10.0
LONGEST_S: Final = 160.0
_TRIES: Final = 3
_ROW_MS: Final = 0.02
_BYTE_MS: Final = 5e-5
"""20 MB/s. A replica that shares two cores with another one takes half of these times (measured)."""


def publication_ms(rows: int, size: int) -> float:
    """How long the publication of so many rows, of `size` bytes in all, may well take where machine and network are slow.

    >>> round(publication_ms(1_000, 200_000)), round(publication_ms(2_000_000, 50_000_000))
    (30, 42500)
    """
    return rows * _ROW_MS + size * _BYTE_MS


class TransactionTime:
    """Doubles with each transaction of an epoch that failed after all of its time, and shrinks when it is not needed.

    An epoch cannot be cut again: one that is too large for its time would be tried for ever. And so that one that wants to
    take over does not wait for a transaction that hangs, the time is short as long as that is enough.
    """

    def __init__(self) -> None:
        self._limit_s = FIRST_S
        self._epoch = -1
        self._in_vain = 0

    @property
    def limit_s(self) -> float:
        """How long the next transaction may take, s."""
        return self._limit_s

    def committed(self, elapsed_s: float) -> None:
        """A transaction succeeded."""
        while self._limit_s > FIRST_S and elapsed_s < self._limit_s / 4:
            self._limit_s /= 2

    def failed(self, epoch: int, elapsed_s: float) -> bool:
        """A transaction of `epoch` was fenced, or has an unknown outcome; whether it is useless to go on trying.

        One that ended early was stopped by something else than its time: it does not count.
        """
        if epoch != self._epoch:
            self._epoch, self._in_vain = epoch, 0
        if elapsed_s < self._limit_s:
            return False
        self._in_vain += 1
        is_longest = self._limit_s >= LONGEST_S
        self._limit_s = min(LONGEST_S, 2 * self._limit_s)
        return is_longest and self._in_vain >= _TRIES
