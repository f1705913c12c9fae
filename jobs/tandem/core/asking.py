"""What the outside world answers: which question is asked, who asks first, and when an answer is proposed again.

Two replicas that ask the same question get two answers, and one that computes an epoch again would get a third. So an
answer is a proposal like any other: the first one in the log counts, and all who compute the epoch, now or later, use that
one (Silvestre et al., Clonos, SIGMOD 2021: determinants). That nobody answered is recorded too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tandem.core.effects import Answer, Append, Ask
from tandem.core.events import Asked, Needs
from tandem.protocol.decisions import Decisions
from tandem.protocol.determinants import MOST_BYTES, in_parts
from tandem.protocol.publication import ProtocolMisuseError
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Answers, Determinant


class UndecidedError(Exception):
    """The ordering log does not show an answer that this replica has proposed again and again."""


@dataclass(frozen=True, slots=True)
class AskingSettings:
    """Times in ms.

    Parameters
    ----------
    least_wait_ms, most_wait_ms : bounds of how long the replica that answered last time is waited for.
    again_ms : a proposal that is not in the log by then was dropped by its producer.
    patience_ms : how long a proposal may be missing in the log before the replica ends.
    read_ms : how long reading what stands in the log already is waited for.
    most_bytes : of the answers in one proposal, as JSON.
    """

    least_wait_ms: float = 20.0
    most_wait_ms: float = 1_000.0
    again_ms: float = 3_500.0
    patience_ms: float = 120_000.0
    read_ms: float = 5_000.0
    most_bytes: int = MOST_BYTES


@dataclass(slots=True)
class _Habit:
    """Who answered a question last, and how long that takes: two replicas at the head should not both have to ask."""

    bound: AdaptiveTimeout
    first: str | None = None


@dataclass(slots=True)
class _Open:
    """A question that is not decided: since when it is waited for, whether it was asked, and what was proposed when."""

    question: str
    since_ms: float | None = None
    is_asked: bool = False
    proposed: list[Determinant] = field(default_factory=list)
    first_ms: float = 0.0
    sent_ms: float = 0.0


class Asking:
    """The questions of one epoch after the other, for incarnation `me`. Times are ms of one monotonic clock."""

    def __init__(self, me: str, settings: AskingSettings = AskingSettings()) -> None:
        self.has_read_all = True
        """Whether, as far as known, nothing is left to read in the log."""
        self._me = me
        self._settings = settings
        self._habits: dict[str, _Habit] = {}
        self._epoch = -1
        self._needed_ms = 0.0
        self._asked: set[str] = set()
        self._open: list[_Open] = []

    @property
    def is_open(self) -> bool:
        """Whether an answer is waited for."""
        return bool(self._open)

    def need(self, needs: Needs, now_ms: float) -> None:
        """The engine has come to an epoch."""
        if self._open or needs.epoch <= self._epoch:
            raise ProtocolMisuseError(f"questions of epoch {needs.epoch}, while those of {self._epoch} are answered")
        self._epoch, self._needed_ms, self.has_read_all = needs.epoch, now_ms, needs.has_read_all
        self._asked.clear()
        self._open = [_Open(question) for question in needs.questions]

    def asked(self, asked: Asked, now_ms: float) -> list[Append]:
        """The outside world has answered; returns the proposal. Of what is decided meanwhile there is none."""
        if asked.epoch != self._epoch or asked.question not in self._asked:
            raise ProtocolMisuseError(f"epoch {asked.epoch}: question {asked.question!r} was not asked")
        self._asked.remove(asked.question)
        one = next((one for one in self._open if one.question == asked.question), None)
        if one is None:
            return []
        parts = in_parts(asked.epoch, asked.question, asked.answers, self._me, self._settings.most_bytes)
        one.proposed, one.first_ms, one.sent_ms = parts, now_ms, now_ms
        return [Append(part) for part in parts]

    def next(self, decisions: Decisions, now_ms: float) -> list[Append | Ask | Answer]:
        """What is to be done now, in this order. Raises `UndecidedError`."""
        return [*self._decided(decisions, now_ms), *self._undecided(now_ms)] if self._open else []

    # The rules -------------------------------------------------------------------------------------------------------

    def answer_of(self, epoch: int, question: str, decisions: Decisions) -> Answers | None:
        """What is computed with: the log's answer, whatever was proposed."""
        return decisions.answer(epoch, question)

    def is_lost(self, proposed_ms: float, now_ms: float) -> bool:
        """Whether a proposal that the log has not shown is given up, and made again."""
        return now_ms - proposed_ms >= self._settings.again_ms

    # ---------------------------------------------------------------------------------------------------------------

    def _decided(self, decisions: Decisions, now_ms: float) -> Iterator[Answer]:
        for one in tuple(self._open):
            answers = self.answer_of(self._epoch, one.question, decisions)
            if answers is None:
                continue
            habit = self._habit(one.question)
            habit.first = decisions.answered_by(self._epoch, one.question) or habit.first
            if one.since_ms is not None:
                habit.bound.observe(now_ms - one.since_ms)
            self._open.remove(one)
            yield Answer(self._epoch, one.question, answers)

    def _undecided(self, now_ms: float) -> Iterator[Append | Ask]:
        """One question is asked after the other; proposals are waited for side by side."""
        may_ask = self.has_read_all or now_ms - self._needed_ms >= self._settings.read_ms
        for one in self._open:
            if one.proposed:
                yield from self._proposed(one, now_ms)
            elif may_ask:
                may_ask = False
                yield from self._ask(one, now_ms)

    def _ask(self, one: _Open, now_ms: float) -> Iterable[Ask]:
        one.since_ms = now_ms if one.since_ms is None else one.since_ms
        habit = self._habit(one.question)
        is_early = habit.first not in (None, self._me) and now_ms - one.since_ms < habit.bound.ms
        if one.is_asked or is_early:
            return ()
        one.is_asked = True
        self._asked.add(one.question)
        return (Ask(self._epoch, one.question),)

    def _proposed(self, one: _Open, now_ms: float) -> Iterable[Append]:
        if not self.is_lost(one.sent_ms, now_ms):
            return ()
        if now_ms - one.first_ms > self._settings.patience_ms:
            raise UndecidedError(
                f"epoch {self._epoch}: no answer to {one.question!r} appeared in the ordering log within "
                f"{self._settings.patience_ms / 1000:.0f} s"
            )
        one.sent_ms = now_ms
        return [Append(part) for part in one.proposed]

    def _habit(self, question: str) -> _Habit:
        if question not in self._habits:
            bound = AdaptiveTimeout(self._settings.least_wait_ms, self._settings.most_wait_ms)
            self._habits[question] = _Habit(bound)
        return self._habits[question]
