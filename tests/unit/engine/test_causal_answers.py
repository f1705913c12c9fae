"""Replicas that ask the outside world the same question use one answer: the first that stands in the log."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence

import pytest

from tandem.core.asking import UndecidedError
from tandem.engine.causal import Causal
from tandem.engine.interface import StoppedError
from tandem.intake.batch import to_batch
from tandem.jobapi.errors import JobError
from tandem.jobapi.questions import AskedRecord, Question
from tandem.kafka.errors import LostInputError
from tandem.protocol.determinants import MOST_BYTES
from tandem.protocol.values import Determinant
from unit.engine.asking_replicas import TIME_MS, Log, Past, Replica, answers, asking, changing, fetched


@pytest.fixture
def log() -> Log:
    made = Log()
    made.cut(0)
    return made


def test_every_record_gets_its_own_answer_whatever_the_order_of_the_merge(log: Log) -> None:
    asked = Replica("a", log, asking(lambda records: [r.value.decode().upper() for r in records], batch=2))

    assert answers(asked.answered(fetched(0, ["p", "q", "r"], ["x", "y"]))) == {
        "score": {"p": "P", "q": "Q", "r": "R", "x": "X", "y": "Y"}
    }


def test_two_replicas_use_the_answer_that_stands_first_in_the_log(log: Log) -> None:
    service, epoch = changing(), fetched(0, ["p", "q"])
    late = Replica("b", log, asking(service))
    # The answer of `a` is on its way when `b` looks, and overtakes that of `b`.
    service([AskedRecord(None, b"p")])
    log.drops, log.arriving = 1, [(0.0, Determinant(0, "score", 0, 1, ("first", "of a"), "a"))]

    assert answers(late.answered(epoch)) == {"score": {"p": "first", "q": "of a"}}
    assert [determinant.answers for determinant in log.appended] == [("p-1", "q-2")]
    assert answers(Replica("c", log, asking(service)).answered(epoch)) == {"score": {"p": "first", "q": "of a"}}


def test_nobody_is_asked_what_the_log_knows(log: Log) -> None:
    epoch = fetched(0, ["p"])
    first = answers(Replica("a", log, asking(changing())).answered(epoch))

    def never(_: object) -> list[str]:
        raise AssertionError("asked")

    assert answers(Replica("a again", log, asking(never)).answered(epoch)) == first
    assert len(log.appended) == 1


def test_that_nobody_answered_is_recorded_and_stays_so(log: Log) -> None:
    def refused(_: object) -> list[str]:
        raise ConnectionRefusedError

    assert answers(Replica("a", log, asking(refused)).answered(fetched(0, ["p"]))) == {"score": {"p": None}}
    assert answers(Replica("b", log, asking(changing())).answered(fetched(0, ["p"]))) == {"score": {"p": None}}


def test_a_batch_that_fails_is_asked_again_and_costs_the_other_batches_nothing(log: Log) -> None:
    tries = itertools.count()

    def flaky(records: list[AskedRecord]) -> list[str]:
        if records[0].value == b"p" and next(tries) < 1:
            raise TimeoutError
        if records[0].value == b"r":
            raise TimeoutError
        return ["ok"] * len(records)

    asked = Replica("a", log, asking(flaky, retries=1, batch=2))
    assert answers(asked.answered(fetched(0, ["p", "q", "r"]))) == {"score": {"p": "ok", "q": "ok", "r": None}}


def test_a_question_per_epoch_is_asked_once_with_its_time(log: Log) -> None:
    times: list[int] = []
    asked = Replica("a", log, asking(lambda time_ms: times.append(time_ms) or "1.07", per="epoch", name="rate"))

    assert answers(asked.answered(fetched(0, ["p"], ["x"]))) == {"rate": {"p": "1.07", "x": "1.07"}}
    assert times == [TIME_MS]


def test_an_epoch_without_records_of_the_source_is_not_asked_about(log: Log) -> None:
    asked = Replica("a", log, asking(changing()), asking(lambda _: "x", per="epoch", name="rate"))

    assert answers(asked.answered(fetched(0, [], []))) == {"score": {}, "rate": {}}
    assert answers(asked.answered(fetched(0, ["p"], topic="other"))) == {"score": {"p": None}, "rate": {"p": None}}
    assert log.appended == []


def test_a_job_that_asks_nothing_carries_nothing(log: Log) -> None:
    epoch = Replica("a", log).answered(fetched(0, ["p"]))

    assert to_batch(epoch)["answers"].to_pylist() == [None]


def test_an_answer_that_the_log_does_not_show_is_proposed_again(log: Log) -> None:
    log.drops = 2

    assert answers(Replica("a", log, asking(changing())).answered(fetched(0, ["p"]))) == {"score": {"p": "p-0"}}
    assert len(log.appended) == 3
    assert len(set(log.appended)) == 1


def test_a_log_that_never_shows_an_answer_is_an_error(log: Log) -> None:
    log.drops = 10_000

    with pytest.raises(UndecidedError, match="no answer to 'score' appeared in the ordering log within 120 s"):
        Replica("a", log, asking(changing())).answered(fetched(0, ["p"]))
    assert len(log.appended) < 100


def test_a_long_answer_goes_in_parts_and_one_that_is_too_long_counts_as_none(log: Log) -> None:
    long, too_long = "x" * (MOST_BYTES // 2), "x" * MOST_BYTES
    given = {"p": long, "q": long, "r": too_long, "s": "short"}
    asked = Replica("a", log, asking(lambda records: [given[r.value.decode()] for r in records]))

    assert answers(asked.answered(fetched(0, list(given)))) == {"score": given | {"r": None}}
    assert [determinant.part for determinant in log.appended] == [0, 1]


def test_who_did_not_answer_last_time_leaves_a_moment_to_who_did(log: Log) -> None:
    asked: list[str] = []

    def of(name: str) -> Question:
        return asking(lambda records: asked.append(name) or ["x"] * len(records))

    a, b = Replica("a", log, of("a")), Replica("b", log, of("b"))
    for one in (a, b):
        one.answered(fetched(0, ["p"]))
    log.cut(1)
    log.arriving = [(log.now_ms + 10, Determinant(1, "score", 0, 1, ("y",), "a"))]
    assert answers(b.answered(fetched(1, ["p"]))) == {"score": {"p": "y"}}
    assert asked == ["a"], "b waited for a, who was first the last time"

    log.cut(2)
    assert answers(b.answered(fetched(2, ["p"]))) == {"score": {"p": "x"}}
    assert asked == ["a", "b"], "a is silent: b asks"
    waited = log.now_ms
    log.cut(3)
    b.answered(fetched(3, ["p"]))
    assert asked == ["a", "b", "b"]
    assert log.now_ms == waited, "b answered last time, and leaves nobody a moment"


def test_who_hangs_in_a_call_goes_on_when_another_replica_has_answered(log: Log) -> None:
    asked, over = threading.Event(), threading.Event()
    other = Determinant(0, "score", 0, 1, ("of b",), "b")
    hanging = Replica("a", log, asking(lambda _: asked.set() or over.wait()))

    def answer_when_asked() -> None:
        assert asked.wait(20)
        log.append(other)

    thread = threading.Thread(target=answer_when_asked)
    thread.start()
    assert answers(hanging.answered(fetched(0, ["p"]))) == {"score": {"p": "of b"}}
    assert log.appended == [other]
    over.set()
    thread.join()


def test_warming_up_asks_nobody(log: Log) -> None:
    def never(_: object) -> list[str]:
        raise AssertionError("asked")

    warm = Causal([asking(never)])
    assert answers(warm.answered(fetched(0, ["p"]), Past(log))) == {"score": {"p": None}}
    log.append(Determinant(0, "score", 0, 1, ("y",), "b"))
    assert answers(warm.answered(fetched(0, ["p"]), Past(log))) == {"score": {"p": "y"}}


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (["x"], "returned a list of 1 for 2 records. Return a list with one answer for each record"),
        ("xy", "returned a str for 2 records"),
        (None, "returned a NoneType for 2 records"),
        ([1.5, "x"], "answered a float. An answer is text or None"),
    ],
)
def test_a_function_that_returns_nonsense_is_told(log: Log, result: object, why: str) -> None:
    with pytest.raises(JobError, match=why):
        Replica("a", log, asking(lambda _: result)).answered(fetched(0, ["p", "q"]))
    assert log.appended == []


def test_records_that_are_gone_are_missed_rather_than_given_the_answers_of_others(log: Log) -> None:
    Replica("a", log, asking(changing())).answered(fetched(0, ["p", "q"]))

    with pytest.raises(LostInputError, match="2 answers to 'score' are recorded, for 1 records"):
        Replica("b", log, asking(changing())).answered(fetched(0, ["q"]))


def test_a_stop_waits_neither_for_the_world_nor_for_the_log(log: Log) -> None:
    asked, over = threading.Event(), threading.Event()
    waiting = Replica("a", log, asking(lambda _: asked.set() or over.wait()))
    ended: list[BaseException] = []

    def run() -> None:
        try:
            waiting.answered(fetched(0, ["p"]))
        except StoppedError as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert asked.wait(20)
    waiting.causal.stop()
    thread.join(20)
    over.set()
    assert len(ended) == 1

    log.drops = 1
    proposing = Replica("b", log, asking(lambda records: proposing.causal.stop() or ["x"] * len(records)))
    with pytest.raises(StoppedError):
        proposing.answered(fetched(0, ["p"]))


def test_what_calls_were_made_and_how_many_answers_are_missing_is_told_by_who_made_them(log: Log) -> None:
    def function(records: Sequence[AskedRecord]) -> list[str]:
        return [str(int(record.value or b"")) for record in records]

    question = asking(function, batch=2)
    asker, reader = Replica("a", log, question), Replica("b", log, question)
    told: list[tuple[str, int, int, str]] = []
    asker.causal.on_calls = lambda *what: told.append(what)
    reader.causal.on_calls = lambda *_: pytest.fail("it made no call")
    epoch = fetched(0, ["1", "2", "x", "4", "5"])

    asked = answers(asker.answered(epoch))
    assert answers(reader.answered(epoch)) == asked

    ((name, count, missing, reason),) = told
    assert (name, count, missing) == ("score", 5, 2)
    assert "invalid literal for int()" in reason
