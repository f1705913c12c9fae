"""What the outside world answers in a test: what the test says, or what was answered in another process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tandem.engine.causal import Causal
from tandem.intake.fetch import Ask, Wait
from tandem.jobapi.errors import JobError
from tandem.jobapi.questions import Question, as_determinant
from tandem.protocol.values import Answers

Recorded = dict[tuple[int, str], Answers | None]
"""Epoch and question → what was answered."""


def answering(questions: Sequence[Question], given: Mapping[str, object]) -> Causal:
    """The job's questions, each with the test's answer in the place of the job's own function.

    Raises `ValueError`: a question has no answer, or an answer no question. `TypeError`: an answer is of another type.
    """
    names = {question.name for question in questions}
    for name in sorted(set(given) - names):
        raise ValueError(f"answers[{name!r}]: the job asks no such question. It asks {sorted(names) or 'none'}")
    for name in sorted(names - set(given)):
        raise ValueError(
            f"the job asks {name!r}, and a test asks nobody outside. Give an answer, answers={{{name!r}: …}}: a constant, "
            "or a function like the job's own"
        )
    return Causal(
        tuple(replace(question, function=_function(question, given[question.name])) for question in questions)
    )


def _function(question: Question, given: object) -> Callable[[Any], Any]:
    if question.is_determinant:
        return as_determinant(given if callable(given) else lambda _: given)
    if callable(given):
        return given
    if given is not None and not isinstance(given, str):
        raise TypeError(
            f"answers[{question.name!r}] is a {type(given).__name__}. An answer of ctx.ask is text or None, or a function "
            "that takes what the job's own function takes"
        )
    return (lambda records: [given] * len(records)) if question.per == "record" else lambda _: given


class Answered:
    """The answers of a run, in the place of the ordering log's. `recorded`: what was answered before; it counts."""

    def __init__(self, recorded: Recorded | None = None) -> None:
        self._asks = recorded is None
        self.recorded: Recorded = dict(recorded or {})

    def answers(self, epoch: int, questions: Sequence[str], ask: Ask, wait: Wait) -> Mapping[str, Answers | None]:
        """To each of the questions about `epoch`. Raises `JobError`: it was not asked before."""
        for name in questions:
            wait(f"the answers to {name!r}")
            if self._asks:
                self.recorded[epoch, name] = ask(name, lambda: False)
            elif (epoch, name) not in self.recorded:
                raise JobError(f"the job asks {name!r} in epoch {epoch}, which it did not in another process")
        return {name: self.recorded[epoch, name] for name in questions}
