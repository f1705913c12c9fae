"""Says so when most calls of a question fail: the rows have null where the answers would be, and nothing else shows it."""

import time
from collections.abc import Callable
from typing import Final

from tandem.logs import get_logger
from tandem.replica.lately import Lately, Reminders
from tandem.status.metrics import ReplicaMetrics

_log = get_logger(__name__)

_SHOWN_S: Final = 600.0


class FailingCalls:
    """Counts answers that calls of `ctx.ask` and `ctx.determinant` gave, and warns.

    A replica that reads the answers in the log makes no calls: the one that does says it. So one that has made none for ten
    minutes says nothing of them.

    Parameters
    ----------
    clock_s : any monotonic clock, s.
    """

    def __init__(self, metrics: ReplicaMetrics, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._last: dict[str, Lately] = {}
        self._called_s: dict[str, float] = {}
        metrics.calls_fail.set_function(lambda: float(self._mostly_fail))
        self._warnings = Reminders()

    @property
    def _mostly_fail(self) -> bool:
        since_s = self._clock_s() - _SHOWN_S
        return any(one.mostly_bad and self._called_s[name] >= since_s for name, one in tuple(self._last.items()))

    def count(self, question: str, answers: int, missing: int, reason: str) -> None:
        """An epoch's calls were made: so many answers were asked for, so many are missing since the calls failed."""
        now_s = self._clock_s()
        self._called_s[question] = now_s
        last = self._last.setdefault(question, Lately())
        last.add(answers, missing, now_s)
        if not last.mostly_bad:
            if self._warnings.over(question):
                _log.info("calls_succeed_again", question=question)
        elif missing and self._warnings.is_due(question, now_s):
            _log.warning(
                "most_calls_fail",
                question=question,
                answers=last.records,
                missing=last.bad,
                reason=reason,
                remedy=f"{last.bad} of the last {last.records} answers to {question} are null, and stay so: calls of "
                "its function failed. If the function is wrong, correct it, and let the job go on with the changed code; if "
                "it asks a service that is away, bring that back",
            )
