"""What became of the last records: most of them bad is a pattern, a few are not."""

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

_WINDOW_S: Final = 60.0
_FEWEST: Final = 10
"""So many records are looked back at, however old they are; and so many bad ones are a pattern."""
_MOST: Final = 0.5
_AGAIN_S: Final = 600.0


@dataclass(slots=True)
class Lately:
    """Of a minute, or of a few more epochs: how many records there were, and how many were bad. Pure."""

    records: int = 0
    bad: int = 0
    _epochs: deque[tuple[float, int, int]] = field(default_factory=deque)

    def add(self, records: int, bad: int, now_s: float) -> None:
        """Another epoch was computed."""
        self._epochs.append((now_s, records, bad))
        self.records += records
        self.bad += bad
        while now_s - self._epochs[0][0] > _WINDOW_S and self.records - self._epochs[0][1] >= _FEWEST:
            _, oldest_records, oldest_bad = self._epochs.popleft()
            self.records -= oldest_records
            self.bad -= oldest_bad

    @property
    def mostly_bad(self) -> bool:
        """Whether an operator should look at it."""
        return self.bad >= _FEWEST and self.bad > _MOST * self.records


class Reminders:
    """What lasts is said when it begins, and again every ten minutes. Pure."""

    def __init__(self) -> None:
        self._said_s: dict[Hashable, float] = {}

    def is_due(self, what: Hashable, now_s: float) -> bool:
        """Whether to say it now; then it counts as said."""
        if now_s - self._said_s.get(what, -_AGAIN_S) < _AGAIN_S:
            return False
        self._said_s[what] = now_s
        return True

    def over(self, what: Hashable) -> bool:
        """It does not last any longer; whether it was said."""
        return self._said_s.pop(what, None) is not None
