"""Ids that a schema registry has not got: when each is asked for again, and how long a new one is waited for. No I/O.

A producer of what is framed by chance may bring an id of its own with each record. So the patience with new ids has a
budget, and what is remembered of them has an end.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from typing import Final

_PATIENT_S: Final = 5.0
"""A registry of several nodes may know an id on one of them a little sooner: so long a new unknown one is asked for."""
_SHORT_S: Final = 0.25
"""As long, while others were waited for in vain lately, or where an epoch has many of them."""
_MANY: Final = 20
_NEAR: Final = 100
_LATELY_S: Final = 30.0
_LATELY_MOST_S: Final = 120.0
"""So long the patience is short after it was in vain: twice as long each time, up to the second."""
_RARELY_S: Final = 30.0
"""An id that stays unknown is asked for with later records, after ever longer times up to this one."""
_REMEMBERED: Final = 10_000


class UnknownIds:
    """Of one registry. Its methods may be called from any thread. `clock_s` : any monotonic clock, s."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._asked: dict[int, tuple[float, float]] = {}
        """When each was asked for first and last; the one that was asked for last is the last."""
        self._short_until_s = clock_s()
        self._short_s = _LATELY_S

    def is_new(self, schema_id: int) -> bool:
        """Whether nothing is remembered of it."""
        return schema_id not in self._asked

    def is_due(self, schema_id: int) -> bool:
        """Whether it is to be asked for."""
        if (times := self._asked.get(schema_id)) is None:
            return True
        first_s, last_s = times
        return self._clock_s() - last_s >= min(last_s - first_s, _RARELY_S)

    def is_patient(self, new: Collection[int], newest: int) -> bool:
        """Whether new ids are waited for as long as one; see `patience_s`.

        `newest` : the highest id that the registry has had. It numbers its schemas, so one a little above is likely to come:
        it is waited for in any case.
        """
        is_likely = any(one <= newest + _NEAR for one in new)
        return 0 < len(new) <= _MANY and (is_likely or self._clock_s() >= self._short_until_s)

    @staticmethod
    def patience_s(is_patient: bool) -> float:
        """How long new ids are waited for, s."""
        return _PATIENT_S if is_patient else min(_SHORT_S, _PATIENT_S)

    def came_late(self) -> None:
        """The registry has got one that was waited for: patience is worth its time."""
        with self._lock:
            self._short_s, self._short_until_s = _LATELY_S, self._clock_s()

    def note(self, ids: Iterable[int], was_patient: bool) -> None:
        """The registry has not got these, and they are not waited for any longer. `was_patient`: they were, in vain."""
        now_s = self._clock_s()
        with self._lock:
            for one in ids:
                first_s, _ = self._asked.pop(one, (now_s, now_s))
                self._asked[one] = (first_s, now_s)
            while len(self._asked) > _REMEMBERED:
                del self._asked[next(iter(self._asked))]
            if was_patient:
                self._short_until_s = now_s + self._short_s
                self._short_s = min(2 * self._short_s, _LATELY_MOST_S)
