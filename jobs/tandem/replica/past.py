"""Epochs of the past, as they stand in the log: a replica warms up with them, and a standby rehearses them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from tandem.checkpoint.position import EnginePosition
from tandem.core.events import LogRecord
from tandem.intake.fetch import Ask, Wait
from tandem.protocol.decisions import Decisions
from tandem.protocol.values import Answers, EpochRange
from tandem.replica.log_events import LogEvents

_BEHIND_S = 5.0

_T = TypeVar("_T")


class PastEpochs:
    """The accepted epochs after a position; see `intake.fetch.Cuts`.

    It folds the log for itself: the position lies before the one from which this process follows the log, if it does.

    Parameters
    ----------
    decisions : of the ordering log up to the position.
    events : reads it on from there.
    """

    def __init__(self, after: EnginePosition, decisions: Decisions, events: LogEvents) -> None:
        self.position = after
        self._decisions = decisions
        self._events = events

    def next(self, timeout_s: float) -> EpochRange | None:
        """The epoch after `position`; None if it is not accepted within `timeout_s`."""
        wanted = self.position.epoch + 1
        return self._read_until(lambda: self._decisions.epoch_range(wanted), timeout_s)

    def taken(self, epoch: EpochRange) -> None:
        """`epoch` was fetched: move behind it."""
        self.position = EnginePosition(epoch.epoch, epoch.log_offset)
        self._decisions.forget_before(epoch.epoch)

    def answers(self, epoch: int, questions: Sequence[str], ask: Ask, wait: Wait) -> dict[str, Answers | None]:  # noqa: ARG002
        """What stands in the log: nobody is asked."""
        return {
            name: self._read_until(
                lambda name=name: self._decisions.answer(epoch, name),  # type: ignore[misc]
                _BEHIND_S,
                lambda: self._events.tail.is_behind,
            )
            for name in questions
        }

    def close(self) -> None:
        """Close the consumer."""
        self._events.tail.close()

    def _read_until(
        self, found: Callable[[], _T | None], timeout_s: float, keep_on: Callable[[], bool] = lambda: True
    ) -> _T | None:
        deadline = time.monotonic() + timeout_s
        while (result := found()) is None and keep_on():
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            for event in self._events.read(left):
                if isinstance(event, LogRecord):
                    self._decisions.apply(event.proposal, event.offset)
        return result
