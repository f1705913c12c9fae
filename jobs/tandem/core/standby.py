"""What a replica that stands by decides: it goes on, is promoted, or ends. Liveness only: the log decides what counts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tandem.core.active_role import DrainedError
from tandem.core.effects import Exit, TellRole
from tandem.core.events import LogRecord, Seen
from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.membership import ClaimWatch
from tandem.protocol.publication import SupersededError
from tandem.protocol.switchover import Role
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Claim, Config, Cut

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
    REQUEST = "a switchover was asked for"
    SILENCE = "nobody claims"


@dataclass(frozen=True, slots=True)
class Promote:
    """Begin to compute."""

    why: Promotion


StandbyEffect = TellRole | Promote | Exit


def bound_on_actives(least_take_over_ms: float) -> AdaptiveTimeout:
    """How long the actives may be silent, if a take-over between them needs `least_take_over_ms` at least."""
    return AdaptiveTimeout(
        least_take_over_ms * _TIMES_THE_LEAST, _LONGEST_SILENCE_MS, _TIMES_THE_SLOWEST, 64, *_CAREFUL
    )


class StandbyCore:
    """Follows the ordering log, and what is seen of the slots. Times are ms of one monotonic clock.

    Parameters
    ----------
    decisions : the fold of the ordering log, as far as read.
    bound : adaptive bound on the time between a cut and its claim.
    generation : this standby's own.
    """

    def __init__(self, decisions: Decisions, bound: AdaptiveTimeout, generation: int) -> None:
        self.decisions = decisions
        self.verdict: Verdict | None = None
        """Of the last record of the log."""
        self._watch = ClaimWatch(bound)
        self._generation = generation

    def step(self, event: LogRecord | Seen, now_ms: float) -> StandbyEffect | None:
        """Take in what happened; returns what is to be done. After a `Promote` or an `Exit` it is asked no more."""
        return self._read(event, now_ms) if isinstance(event, LogRecord) else self._decide(event, now_ms)

    def is_silent(self, now_ms: float) -> bool:
        """Whether a cut has been waiting for a claim for too long."""
        return self._watch.is_silent(now_ms)

    def _read(self, record: LogRecord, now_ms: float) -> Exit | None:
        proposal = record.proposal
        self.verdict = self.decisions.apply(proposal, record.offset)
        if self.verdict is not Verdict.ACCEPTED:
            return None
        match proposal:
            case Config(generation) if generation > self._generation:
                return Exit(SupersededError(f"generation {generation} of the job has begun"))
            case Cut(epoch):
                self._watch.cut(epoch, now_ms)
            case Claim(epoch):
                self._watch.claimed(epoch, now_ms)
                self.decisions.forget_before(epoch)
        return None

    def _decide(self, seen: Seen, now_ms: float) -> StandbyEffect:
        if seen.must_end:
            return Exit(DrainedError())
        if seen.slot is not None:
            return Promote(Promotion.SLOT)
        if seen.replaces_ended:
            return Promote(Promotion.ENDED)
        if seen.is_summoned:
            return Promote(Promotion.REQUEST)
        if self.is_silent(now_ms):
            return Promote(Promotion.SILENCE)
        return TellRole(Role.PROVED if seen.has_proved else Role.STANDBY)
