"""Standing by: everything is warm, nothing is computed; until there is a slot, or an active that has ended or is silent."""

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
_TIMES_THE_LEAST = 10
"""A standby lets the actives be silent for so many times the least bound of a take-over: promotion is the greater step."""
_TIMES_THE_SLOWEST = 3.0
"""And for so many times the slowest claim of late."""
_CAREFUL = (16, 5_000.0)
"""Until it has seen so many claims, it does not know yet how long they take, and lets them take so long, ms."""
_LONGEST_SILENCE_MS = 60_000.0
"""Before it has seen a claim: actives that start together with it take long for their first epoch."""


class Promotion(Enum):
    """Why a standby becomes active."""

    SLOT = "it holds a slot"
    ENDED = "an active has ended"
    SILENCE = "nobody claims"
    WISH = "a switchover was asked for"


def bound_on_actives(least_take_over_ms: float) -> SilenceBound:
    """How long the actives may be silent, if a take-over between them needs `least_take_over_ms` at least."""
    return SilenceBound(least_take_over_ms * _TIMES_THE_LEAST, _LONGEST_SILENCE_MS, _TIMES_THE_SLOWEST, 64, *_CAREFUL)


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
                if self._slots.replaces_ended:
                    return Promotion.ENDED
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
