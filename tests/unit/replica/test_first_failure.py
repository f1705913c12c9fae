"""The first failure of a replica's threads is the one that it ends with."""

from __future__ import annotations

import threading

import pytest

from tandem.engine.interface import StoppedError
from tandem.replica.failure import FirstFailure


def test_the_first_failure_counts() -> None:
    failure = FirstFailure()
    assert failure.error is None
    first = ValueError("first")
    failure.put(first)
    failure.put(ValueError("follows from that"))
    assert failure.error is first


def test_a_part_that_was_stopped_hides_nothing() -> None:
    failure = FirstFailure()
    failure.put(StoppedError())
    assert failure.error is None
    why = ValueError("why it was")
    failure.put(why)
    assert failure.error is why


def test_it_is_noted_before_anybody_looks_what_stands_behind_it() -> None:
    failure, may_answer = FirstFailure(), threading.Event()
    raised = ValueError("of Spark")

    def asks_a_jvm(error: BaseException) -> BaseException:
        assert may_answer.wait(10.0)
        return RuntimeError(f"the job raised: {error}")

    failure.put(raised, asks_a_jvm)
    assert failure.error is raised
    failure.put(ValueError("follows from that"))
    may_answer.set()
    assert str(failure.explained()) == "the job raised: of Spark"


def test_what_cannot_be_explained_is_said_as_it_is() -> None:
    failure = FirstFailure()
    raised = ValueError("of Spark")

    def asks_a_jvm_that_has_ended(_error: BaseException) -> BaseException:
        raise ConnectionError("Answer from Java side is empty")

    failure.put(raised, asks_a_jvm_that_has_ended)
    assert failure.explained() is raised


@pytest.mark.parametrize("kind", [SystemExit, GeneratorExit])
def test_what_would_end_a_process_without_a_word_is_an_error(kind: type[BaseException]) -> None:
    failure = FirstFailure()
    failure.put(kind("0"))
    found = failure.explained()
    assert isinstance(found, Exception)
    assert kind.__name__ in str(found)
