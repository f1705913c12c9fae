"""The epochs that an engine is to compute: handed over one after the other, or read in the log of the past."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TypeVar

from tandem.checkpoint.position import EnginePosition
from tandem.kafka.tail import LogTail
from tandem.protocol.codec import CodecError, decode_proposal
from tandem.protocol.decisions import Decisions
from tandem.protocol.values import EpochRange

_BEHIND_S = 5.0

_T = TypeVar("_T")


class Cuts(Protocol):
    """The epochs that are to be computed, one after the other, and the answers that count in the one taken last.

    All of them may raise `StoppedError` when there will be no more.
    """

    position: EnginePosition
    """Behind the epoch taken last."""

    def next(self, timeout_s: float) -> EpochRange | None:
        """The cut after `position`; None if it does not come within `timeout_s`. Does not move `position`."""

    def taken(self, epoch: EpochRange) -> None:
        """`epoch` was fetched: move behind it."""

    def answer(self, epoch: int, name: str, timeout_s: float) -> tuple[str | None, ...] | None:
        """The answer that counts; None if it is not decided within `timeout_s`."""

    def recorded(self, epoch: int, name: str) -> tuple[str | None, ...] | None:
        """The same without waiting for anybody: what is known to stand in the log already is read."""

    def answered_by(self, epoch: int, name: str) -> str | None:
        """The incarnation whose answer counts, as far as read."""

    def close(self) -> None:
        """Release what it holds."""


class CutReader:
    """Epochs of the past, to warm up and to rehearse with: the accepted cuts after a position, see `Cuts`.

    Parameters
    ----------
    decisions : of the ordering log up to the position.
    tail : reads it on from there.
    """

    def __init__(self, after: EnginePosition, decisions: Decisions, tail: LogTail) -> None:
        self.position = after
        self._decisions = decisions
        self._tail = tail

    def next(self, timeout_s: float) -> EpochRange | None:
        """The cut after `position`; None if it is not accepted within `timeout_s`. Does not move `position`."""
        wanted = self.position.epoch + 1
        return self._read_until(lambda: self._decisions.epoch_range(wanted), timeout_s)

    def taken(self, epoch: EpochRange) -> None:
        """`epoch` was fetched: move behind it."""
        self.position = EnginePosition(epoch.epoch, epoch.log_offset)
        self._decisions.forget_before(epoch.epoch)

    def answer(self, epoch: int, name: str, timeout_s: float) -> tuple[str | None, ...] | None:
        """The answer that counts; None if it is not decided within `timeout_s`."""
        return self._read_until(lambda: self._decisions.answer(epoch, name), timeout_s)

    def recorded(self, epoch: int, name: str) -> tuple[str | None, ...] | None:
        """The same without waiting for anybody: what is known to stand in the log already is read."""
        return self._read_until(lambda: self._decisions.answer(epoch, name), _BEHIND_S, lambda: self._tail.is_behind)

    def answered_by(self, epoch: int, name: str) -> str | None:
        """The incarnation whose answer counts, as far as read."""
        return self._decisions.answered_by(epoch, name)

    def _read_until(
        self, found: Callable[[], _T | None], timeout_s: float, keep_on: Callable[[], bool] = lambda: True
    ) -> _T | None:
        deadline = time.monotonic() + timeout_s
        while (result := found()) is None and keep_on():
            left = deadline - time.monotonic()
            if left <= 0:
                return None
            for record in self._tail.poll(left):
                with suppress(CodecError):  # somebody else's record; the publisher logs it
                    self._decisions.apply(decode_proposal(record.value), record.offset)
        return result

    def close(self) -> None:
        """Close the consumer."""
        self._tail.close()
