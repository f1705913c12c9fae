"""A test answers for the outside world: with constants or functions, and learns which answers are missing."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.engine.interface import StoppedError
from tandem.jobapi.errors import JobError
from tandem.jobapi.questions import AskedRecord, Question
from tandem.testing.answers import Answered, answering

TWO = [AskedRecord(b"k", b"1"), AskedRecord(None, b"2")]


def question(name: str, per: Any = "record", is_determinant: bool = False) -> Question:
    return Question(name, nobody, frozenset({"in"}), per, 1.0, 0, 100, is_determinant)


def nobody(_: object) -> Any:
    raise AssertionError("the job's own function is called in no test")


def answer(asked: Question, given: object, call: object) -> Any:
    return answering([asked], {asked.name: given}).questions[asked.name].function(call)


def test_a_constant_answers_for_each_record_or_for_the_epoch() -> None:
    assert answer(question("score"), "0.5", TWO) == ["0.5", "0.5"]
    assert answer(question("score"), None, TWO) == [None, None]
    assert answer(question("rate", "epoch"), "1.1", 1_000) == "1.1"


def test_a_function_takes_and_gives_what_the_jobs_own_does() -> None:
    assert answer(question("score"), lambda records: [str(r.value) for r in records], TWO) == ["b'1'", "b'2'"]
    assert answer(question("rate", "epoch"), lambda time_ms: str(time_ms), 1_000) == "1000"


def test_a_determinant_is_any_value_that_json_has() -> None:
    assert answer(question("limits", "epoch", True), {"low": 1}, 5) == '{"value": {"low": 1}}'
    assert answer(question("limits", "epoch", True), lambda time_ms: time_ms, 5) == '{"value": 5}'
    assert answer(question("limits", "epoch", True), None, 5) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "the job asks 'score', and a test asks nobody outside"),
        ({"score": "1", "rate": "2"}, r"answers\['rate'\]: the job asks no such question. It asks \['score'\]"),
        ({"score": 1}, r"answers\['score'\] is a int"),
    ],
)
def test_missing_needless_and_impossible_answers_are_named(given: dict[str, object], said: str) -> None:
    with pytest.raises((ValueError, TypeError), match=said):
        answering([question("score")], given)


def test_what_was_answered_once_counts_for_another_process() -> None:
    first = Answered()
    assert first.answers(0, ["score"], lambda name, _: (name,), lambda _: None) == {"score": ("score",)}

    again = Answered(first.recorded)

    assert again.answers(0, ["score"], lambda *_: nobody(0), lambda _: None) == {"score": ("score",)}
    with pytest.raises(JobError, match="asks 'score' in epoch 1, which it did not"):
        again.answers(1, ["score"], lambda *_: nobody(0), lambda _: None)


def test_a_run_that_is_stopped_asks_nobody() -> None:
    def stopped(_: str) -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        Answered().answers(0, ["score"], lambda *_: nobody(0), stopped)
