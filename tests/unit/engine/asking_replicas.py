"""Replicas that ask the outside world, with an ordering log in memory between them."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Message

from tandem.core import effects
from tandem.core.asking import Asking
from tandem.core.effects import Answer, Append, Effect
from tandem.core.events import Asked, Needs
from tandem.engine.causal import Causal
from tandem.intake.batch import to_batch
from tandem.intake.fetch import Ask, Fetched, Wait
from tandem.jobapi.questions import AskedRecord, Per, Question
from tandem.protocol.decisions import Decisions
from tandem.protocol.determinants import MOST_TOGETHER
from tandem.protocol.values import Answers, Config, Cut, Determinant, EpochRange, Offsets, Proposal, TopicPartition

TIME_MS = 1_700_000_000_123


@dataclass
class Log:
    """An ordering log in memory, with a clock that moves while somebody waits for it. `drops`: appends that get lost."""

    drops: int = 0
    now_ms: float = 0.0
    appended: list[Determinant] = field(default_factory=list)
    arriving: list[tuple[float, Determinant]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.decisions = Decisions()
        self.decisions.apply(Config(0, "c0ffee", Offsets(), "a"))

    def cut(self, epoch: int) -> None:
        self.decisions.apply(Cut(epoch, Offsets(), TIME_MS, 7, "orderer-0"))

    def append(self, proposal: Proposal) -> None:
        assert isinstance(proposal, Determinant)
        self.appended.append(proposal)
        if self.drops:
            self.drops -= 1
        else:
            self.decisions.apply(proposal)

    def pass_time(self, ms: float) -> None:
        self.now_ms += ms
        for _, determinant in [one for one in self.arriving if one[0] <= self.now_ms]:
            self.decisions.apply(determinant)


class Replica:
    """The product's `Asking` and `Causal` of one incarnation, with the log between them, without threads or queues."""

    def __init__(self, name: str, log: Log, *questions: Question, most_bytes: int = MOST_TOGETHER) -> None:
        self.causal = Causal(questions, most_bytes)
        self._core = Asking(name)
        self._log = log

    def answered(self, fetched: Fetched) -> Fetched:
        return self.causal.answered(fetched, self)

    def answers(self, epoch: int, questions: Sequence[str], ask: Ask, wait: Wait) -> dict[str, Answers]:
        log, found, said = self._log, dict[str, Answers](), deque[Effect]()
        self._core.need(Needs(epoch, tuple(questions)), log.now_ms)
        while len(found) < len(questions):
            said += self._core.next(log.decisions, log.now_ms)
            if not said:
                wait("")
                log.pass_time(10)
                continue
            match said.popleft():
                case Append(proposal):
                    log.append(proposal)
                case effects.Ask(_, question):
                    result = ask(question, lambda name=question: log.decisions.answer(epoch, name) is not None)
                    if result is not None:
                        said += self._core.asked(Asked(epoch, question, result), log.now_ms)
                case Answer(_, question, answers):
                    found[question] = answers
        return found


class Past:
    """Answers that stand in the log, and nobody is asked."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def answers(self, epoch: int, questions: Sequence[str], ask: Ask, wait: Wait) -> dict[str, Answers | None]:  # noqa: ARG002
        return {name: self._log.decisions.answer(epoch, name) for name in questions}


def asking(
    function: Callable[[Any], Any], per: Per = "record", retries: int = 0, batch: int = 100, name: str = "score"
) -> Question:
    return Question(name, function, frozenset({"in"}), per, timeout_s=20.0, retries=retries, batch=batch)


def fetched(epoch: int, *inputs: list[str], topic: str = "in") -> Fetched:
    """An epoch with the records of partition 0, 1, …"""
    records = tuple(
        (
            TopicPartition(topic, partition),
            [
                Message(topic=topic, partition=partition, offset=offset, key=b"k", value=v.encode(), timestamp=(1, 0))
                for offset, v in enumerate(values)
            ],
        )
        for partition, values in enumerate(inputs)
    )
    return Fetched(EpochRange(epoch, Offsets(), Offsets(), TIME_MS, 7, 9), records)


def answers(epoch: Fetched) -> dict[str, dict[str, str | None]]:
    """Question → record → answer, as Spark gets it."""
    found: dict[str, dict[str, str | None]] = {answered.name: {} for answered in epoch.answers}
    for row in to_batch(epoch).to_pylist():
        for name, answer in row["answers"] or ():
            found[name][row["value"].decode()] = answer
    return found


def changing() -> Callable[[list[AskedRecord]], list[str]]:
    """A service that never answers the same twice."""
    numbers = itertools.count()
    return lambda records: [f"{(record.value or b'').decode()}-{next(numbers)}" for record in records]
