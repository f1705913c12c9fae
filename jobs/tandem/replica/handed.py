"""The epochs that the core hands to the engine, and the answers that the log has decided: the engine reads no log."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable

from tandem.checkpoint.position import EnginePosition
from tandem.engine.interface import StoppedError
from tandem.protocol.decisions import Decisions
from tandem.protocol.values import EpochRange

_TICK_S = 0.2
_BEHIND_S = 5.0

Answers = tuple[str | None, ...]


class HandedEpochs:
    """A queue between the loop's thread and the engine's; see `engine.cuts.Cuts`.

    Parameters
    ----------
    after : where the engine's state stands.
    """

    def __init__(self, after: EnginePosition) -> None:
        self.position = after
        self._decisions: Decisions
        self._is_behind: Callable[[], bool]
        self._epochs: queue.SimpleQueue[EpochRange | None] = queue.SimpleQueue()
        self._next: EpochRange | None = None
        self._news = threading.Condition()
        self._stopped = False

    def connect(self, decisions: Decisions, is_behind: Callable[[], bool]) -> None:
        """To be called before the first epoch is handed over.

        `decisions` : the process's only ones, which the loop's thread changes; answers in it stay. `is_behind`: whether
        more is known to stand in the log than `decisions` has taken in.
        """
        self._decisions, self._is_behind = decisions, is_behind

    # By the loop -----------------------------------------------------------------------------------------------------

    def hand(self, epoch: EpochRange) -> None:
        """The next epoch to be computed."""
        self._epochs.put(epoch)

    def news(self) -> None:
        """The log may have decided an answer."""
        with self._news:
            self._news.notify_all()

    def stop(self) -> None:
        """Nothing will come any more."""
        self._stopped = True
        self._epochs.put(None)
        self.news()

    # By the engine ---------------------------------------------------------------------------------------------------

    def next(self, timeout_s: float) -> EpochRange | None:
        """The epoch after `position`; None if it does not come within `timeout_s`. Raises `StoppedError`."""
        if self._next is None:
            try:
                self._next = self._epochs.get(timeout=timeout_s)
            except queue.Empty:
                return None
        self._check()
        return self._next

    def taken(self, epoch: EpochRange) -> None:
        """`epoch` was fetched: move behind it."""
        self.position, self._next = EnginePosition(epoch.epoch, epoch.log_offset), None

    def answer(self, epoch: int, name: str, timeout_s: float) -> Answers | None:
        """The answer that counts; None if it is not decided within `timeout_s`. Raises `StoppedError`."""
        with self._news:
            self._news.wait_for(lambda: self._stopped or self._decisions.answer(epoch, name) is not None, timeout_s)
        self._check()
        return self._decisions.answer(epoch, name)

    def recorded(self, epoch: int, name: str) -> Answers | None:
        """The same without waiting for anybody: what is known to stand in the log already is read."""
        deadline = time.monotonic() + _BEHIND_S
        while (found := self._decisions.answer(epoch, name)) is None and self._is_behind():
            if time.monotonic() > deadline:
                return None
            self.answer(epoch, name, _TICK_S)
        return found

    def answered_by(self, epoch: int, name: str) -> str | None:
        """The incarnation whose answer counts."""
        return self._decisions.answered_by(epoch, name)

    def close(self) -> None:
        """Nothing to close."""

    def _check(self) -> None:
        if self._stopped:
            raise StoppedError
