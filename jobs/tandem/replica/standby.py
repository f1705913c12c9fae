"""Standing by: everything is warm, nothing is computed; until there is a slot, or nobody claims any more."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum

from tandem.kafka.tail import LogTail
from tandem.protocol.codec import CodecError, decode_proposal
from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.publication import SupersededError
from tandem.protocol.silence import SilenceBound
from tandem.protocol.standby import ClaimWatch
from tandem.protocol.values import Claim, Config, Cut
from tandem.replica.slots import Slots

_POLL_S = 0.05


class Promotion(Enum):
    """Why a standby becomes active."""

    SLOT = "it holds a slot"
    SILENCE = "nobody claims"
    WISH = "a switchover was asked for"


class Standby:
    """Follows the ordering log and the slots.

    Parameters
    ----------
    decisions, tail : the fold of the ordering log, and where it is read on.
    bound : adaptive bound on the time between a cut and its claim.
    generation : this standby's own.
    clock_ms : any monotonic clock, ms.
    """

    def __init__(
        self,
        slots: Slots,
        decisions: Decisions,
        tail: LogTail,
        bound: SilenceBound,
        generation: int,
        clock_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
    ) -> None:
        self._slots = slots
        self._decisions = decisions
        self._tail = tail
        self._watch = ClaimWatch(bound)
        self._generation = generation
        self._clock_ms = clock_ms

    def wait(self, stopped: Callable[[], bool]) -> Promotion | None:
        """Wait until this standby is promoted; None if it is stopped before. Raises `LostInputError`, `SupersededError`."""
        with self._tail:
            while not stopped():
                self._follow()
                if self._slots.slot is not None:
                    return Promotion.SLOT
                if self._slots.is_summoned:
                    return Promotion.WISH
                if self._watch.is_silent(self._clock_ms()):
                    return Promotion.SILENCE
        return None

    def _follow(self) -> None:
        for record in self._tail.poll(_POLL_S):
            with suppress(CodecError):
                proposal = decode_proposal(record.value)
                if self._decisions.apply(proposal, record.offset) is not Verdict.ACCEPTED:
                    continue
                if isinstance(proposal, Config) and proposal.generation > self._generation:
                    raise SupersededError(f"generation {proposal.generation} of the job has begun")
                if isinstance(proposal, Cut):
                    self._watch.cut(proposal.epoch, self._clock_ms())
                elif isinstance(proposal, Claim):
                    self._watch.claimed(proposal.epoch, self._clock_ms())
                    self._decisions.forget_before(proposal.epoch)
