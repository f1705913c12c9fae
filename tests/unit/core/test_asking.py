"""Who asks the outside world, and when: nobody while the log is still read, one question after the other."""

from __future__ import annotations

import pytest

from tandem.core.asking import Asking, AskingSettings, UndecidedError
from tandem.core.effects import Answer, Append, Ask
from tandem.core.events import Asked, Needs
from tandem.protocol.decisions import Decisions
from tandem.protocol.publication import ProtocolMisuseError
from tandem.protocol.values import Config, Cut, Determinant, Offsets


def answer(question: str, by: str, epoch: int = 0) -> Determinant:
    return Determinant(epoch, question, 0, 1, (f"of {by}",), by)


@pytest.fixture
def log() -> Decisions:
    made = Decisions()
    made.apply(Config(0, "c0ffee", Offsets(), "a"))
    for epoch in range(3):
        made.apply(Cut(epoch, Offsets(), 0, 7, "orderer-0"))
    return made


def test_nobody_is_asked_while_the_log_may_hold_the_answer(log: Decisions) -> None:
    asking = Asking("b")
    asking.need(Needs(0, ("score",), has_read_all=False), 0.0)
    assert asking.next(log, 4_000.0) == []

    log.apply(answer("score", "a"))
    assert asking.next(log, 4_001.0) == [Answer(0, "score", ("of a",))]
    assert not asking.is_open


def test_it_is_asked_once_the_log_is_read_or_reading_takes_long(log: Decisions) -> None:
    read, slow = Asking("b"), Asking("b")
    for asking in (read, slow):
        asking.need(Needs(0, ("score",), has_read_all=False), 0.0)
    read.has_read_all = True

    assert read.next(log, 1.0) == [Ask(0, "score")]
    assert slow.next(log, 4_999.0) == []
    assert slow.next(log, 5_000.0) == [Ask(0, "score")]
    assert slow.next(log, 6_000.0) == [], "it is asked once"


def test_one_question_is_asked_after_the_other(log: Decisions) -> None:
    asking = Asking("b")
    asking.need(Needs(0, ("score", "rate")), 0.0)
    assert asking.next(log, 0.0) == [Ask(0, "score")]
    assert asking.next(log, 9.0) == []

    assert asking.asked(Asked(0, "score", ("of b",)), 10.0) == [Append(answer("score", "b"))]
    assert asking.next(log, 10.0) == [Ask(0, "rate")]
    log.apply(answer("rate", "a"))
    assert asking.next(log, 11.0) == [Answer(0, "rate", ("of a",))]
    assert asking.asked(Asked(0, "rate", ("too late",)), 12.0) == [], "what is decided is not proposed"
    log.apply(answer("score", "b"))
    assert asking.next(log, 12.0) == [Answer(0, "score", ("of b",))]


def test_the_first_word_is_left_to_another_for_a_time_that_follows_how_long_it_takes(log: Decisions) -> None:
    asking = Asking("b", AskingSettings(least_wait_ms=20.0, most_wait_ms=1_000.0))
    asking.need(Needs(0, ("score",)), 0.0)
    asking.next(log, 0.0)
    log.apply(answer("score", "a"))
    asking.next(log, 100.0)

    asking.need(Needs(1, ("score",)), 1_000.0)
    assert asking.next(log, 1_000.0) == asking.next(log, 1_149.0) == []
    assert asking.next(log, 1_150.0) == [Ask(1, "score")], "1.5 times what the last answer took"


def test_an_answer_that_never_appears_ends_the_replica(log: Decisions) -> None:
    asking = Asking("b")
    asking.need(Needs(0, ("score",)), 0.0)
    asking.next(log, 0.0)
    asking.asked(Asked(0, "score", ("of b",)), 0.0)
    assert asking.next(log, 3_499.0) == []
    assert asking.next(log, 3_500.0) == [Append(answer("score", "b"))]
    with pytest.raises(UndecidedError, match="epoch 0: no answer to 'score' appeared in the ordering log within 120 s"):
        asking.next(log, 121_000.0)


def test_what_was_not_asked_is_not_answered(log: Decisions) -> None:
    asking = Asking("b")
    asking.need(Needs(0, ("score",)), 0.0)
    with pytest.raises(ProtocolMisuseError, match="question 'score' was not asked"):
        asking.asked(Asked(0, "score", ("x",)), 0.0)
    with pytest.raises(ProtocolMisuseError, match="questions of epoch 1, while those of 0 are answered"):
        asking.need(Needs(1, ("score",)), 0.0)
    asking.next(log, 0.0)
    asking.asked(Asked(0, "score", ("x",)), 0.0)
    with pytest.raises(ProtocolMisuseError, match="question 'score' was not asked"):
        asking.asked(Asked(0, "score", ("x",)), 0.0)
