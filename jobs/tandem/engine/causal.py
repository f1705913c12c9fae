"""Causal services: what the outside world answers is recorded in the ordering log, and the log's answer is used.

Two replicas that ask the same question get two answers, and whoever computes an epoch again would get a third. So an
answer is a proposal like any other: the first one in the log counts, and all who compute the epoch, now or later, read it
there before they compute (Silvestre et al., Clonos, SIGMOD 2021: determinants). That nobody answered is recorded too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from tandem.engine.calls import Calls, Failure
from tandem.engine.interface import StoppedError
from tandem.intake.fetch import Fetched
from tandem.jobapi.questions import Question
from tandem.kafka.errors import LostInputError, ReadTimeoutError
from tandem.logs import get_logger
from tandem.protocol.determinants import MOST_BYTES, in_parts, size_of
from tandem.protocol.silence import SilenceBound
from tandem.protocol.values import Determinant, Proposal

_log = get_logger(__name__)

_TICK_S = 0.2
_AGAIN_S = 3.5
"""A proposal that is not in the log by then was dropped by its producer."""
_LOG_PATIENCE_S = 120.0
_LEAST_WAIT_MS, _MOST_WAIT_MS = 20.0, 1_000.0

Answers = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Proposer:
    """How this incarnation, `name`, appends to the ordering log."""

    name: str
    append: Callable[[Proposal], None]


class AnswerLog(Protocol):
    """The ordering log, as far as it is about answers; see `EpochFetcher`."""

    def recorded(self, epoch: int, name: str) -> Answers | None:
        """The answer that counts, if it stands in the log already."""

    def answer(self, epoch: int, name: str, timeout_s: float) -> Answers | None:
        """The answer that counts; None if it is not decided within `timeout_s`."""

    def answered_by(self, epoch: int, name: str) -> str | None:
        """The incarnation whose answer counts."""


@dataclass(slots=True)
class _Habit:
    """Who answered a question last, and how long that takes: two replicas at the head should not both have to ask."""

    bound: SilenceBound
    first: str | None = None


@dataclass(slots=True)
class _Open:
    """A question of an epoch that is not decided: what was proposed, and since when it is waited for (monotonic, s)."""

    question: Question
    calls: list[Any]
    since: float
    proposed: list[Determinant] = field(default_factory=list)


class Causal:
    """Answers the questions of a job, epoch after epoch."""

    def __init__(
        self,
        questions: Sequence[Question],
        proposer: Proposer,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.questions = tuple(questions)
        self._proposer = proposer
        self._stopping = threading.Event()
        self._clock_s = clock_s
        self._calls = Calls()
        self._habits = {q.name: _Habit(SilenceBound(_LEAST_WAIT_MS, _MOST_WAIT_MS)) for q in self.questions}

    def stop(self) -> None:
        """Give up what is under way."""
        self._stopping.set()

    def answered(self, fetched: Fetched, log: AnswerLog, at: Callable[[str], None] = lambda _: None) -> Fetched:
        """`fetched` with the answers that count. What the log does not know yet is asked, and proposed.

        `at` : called with each step.

        Raises `StoppedError`, `ReadTimeoutError` if the log shows no answer, `JobError` if a function returns nonsense.
        """
        epoch = fetched.range.epoch
        answers: dict[str, Answers | None] = {}
        undecided: list[_Open] = []
        for question in self.questions:
            at(f"the answers to {question.name!r} ({1 + question.retries} times {question.timeout_s:g} s for a call)")
            if not question.count(fetched):
                answers[question.name] = ()
            elif (known := self._known(question.name, epoch, log)) is not None:
                answers[question.name] = known
            else:
                undecided.append(self._begin(_Open(question, question.calls(fetched), self._clock_s()), epoch, log))
        for one in undecided:
            at(f"the answers to {one.question.name!r} in the ordering log")
            answers[one.question.name] = self._decided(one, epoch, log)
        return self._complete(fetched, answers)

    def recorded(self, fetched: Fetched, log: AnswerLog) -> Fetched:
        """`fetched` with the answers that stand in the log, None for the others: nobody is asked."""
        epoch = fetched.range.epoch
        return self._complete(fetched, {q.name: log.recorded(epoch, q.name) for q in self.questions})

    def _known(self, name: str, epoch: int, log: AnswerLog) -> Answers | None:
        known = log.recorded(epoch, name)
        self._habits[name].first = log.answered_by(epoch, name) or self._habits[name].first
        return known

    def _begin(self, one: _Open, epoch: int, log: AnswerLog) -> _Open:
        """Leave a moment to whoever usually answers first, then ask and propose."""
        habit, name = self._habits[one.question.name], one.question.name
        if habit.first in (None, self._proposer.name) or not self._appears(one, epoch, log, habit.bound.ms / 1_000):
            answers = self._asked(one, epoch, lambda: self._stopping.is_set() or log.recorded(epoch, name) is not None)
            if answers is not None:
                one.proposed = in_parts(epoch, name, answers, self._proposer.name)
                self._propose(one)
        return one

    def _decided(self, one: _Open, epoch: int, log: AnswerLog) -> Answers:
        """Wait until the log has decided; propose again what it does not show."""
        deadline = self._clock_s() + _LOG_PATIENCE_S
        while not self._appears(one, epoch, log, _AGAIN_S):
            if self._clock_s() > deadline:
                raise ReadTimeoutError(
                    f"epoch {epoch}: no answer to {one.question.name!r} appeared in the ordering log within "
                    f"{_LOG_PATIENCE_S:.0f} s"
                )
            self._propose(one)
        self._habits[one.question.name].bound.observe((self._clock_s() - one.since) * 1_000)
        decided = self._known(one.question.name, epoch, log)
        assert decided is not None  # noqa: S101
        return decided

    def _appears(self, one: _Open, epoch: int, log: AnswerLog, timeout_s: float) -> bool:
        deadline = self._clock_s() + timeout_s
        while (left := deadline - self._clock_s()) > 0:
            if self._stopping.is_set():
                raise StoppedError
            if log.answer(epoch, one.question.name, min(left, _TICK_S)) is not None:
                return True
        return False

    def _asked(self, one: _Open, epoch: int, halt: Callable[[], bool]) -> list[str | None] | None:
        """The answers of the outside world; None if another one's stand in the log before they are there."""
        question, answers = one.question, list[str | None]()
        results = self._calls.make(question.function, one.calls, question.timeout_s, question.retries, halt)
        if results is None:
            return None
        for call, result in zip(one.calls, results, strict=True):
            if isinstance(result, Failure):
                _log.warning("no_answer", question=question.name, epoch=epoch, reason=result.reason)
                answers += [None] * question.expected(call)
            else:
                answers += [self._fitting(question, epoch, answer) for answer in question.checked(call, result)]
        return answers

    def _fitting(self, question: Question, epoch: int, answer: str | None) -> str | None:
        if size_of(answer) <= MOST_BYTES:
            return answer
        _log.warning("answer_too_large", question=question.name, epoch=epoch, bytes=size_of(answer), most=MOST_BYTES)
        return None

    def _propose(self, one: _Open) -> None:
        for part in one.proposed:
            self._proposer.append(part)

    def _complete(self, fetched: Fetched, answers: dict[str, Answers | None]) -> Fetched:
        columns = []
        for question in self.questions:
            expected = question.count(fetched)
            given = answers[question.name]
            if given is not None and len(given) != expected:
                raise LostInputError(
                    f"epoch {fetched.range.epoch}: {len(given)} answers to {question.name!r} are recorded, for {expected} "
                    "records: some have been deleted since. Set cleanup.policy=delete and a longer retention.ms"
                )
            columns.append(question.spread(fetched, (None,) * expected if given is None else given))
        return replace(fetched, answers=tuple(columns))
