"""Replicas that ask the outside world the same question use one answer: the first that stands in the log."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import Message

from tandem.engine.causal import Causal, Proposer, StoppedError
from tandem.intake.batch import to_batch
from tandem.intake.fetch import Fetched
from tandem.jobapi.errors import JobError
from tandem.jobapi.questions import AskedRecord, Per, Question
from tandem.kafka.errors import LostInputError, ReadTimeoutError
from tandem.protocol.decisions import Decisions
from tandem.protocol.determinants import MOST_BYTES
from tandem.protocol.values import Config, Cut, Determinant, EpochRange, Positions, Proposal, TopicPartition

TIME_MS = 1_700_000_000_123


@dataclass
class Log:
    """An ordering log in memory, with a clock that moves while somebody waits for it. `drops`: appends that get lost."""

    drops: int = 0
    now: float = 0.0
    appended: list[Determinant] = field(default_factory=list)
    arriving: list[tuple[float, Determinant]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.decisions = Decisions()
        self.decisions.apply(Config(0, "c0ffee", Positions(), "a"))

    def cut(self, epoch: int) -> None:
        self.decisions.apply(Cut(epoch, Positions(), TIME_MS, 7, "orderer-0"))

    def append(self, proposal: Proposal) -> None:
        assert isinstance(proposal, Determinant)
        self.appended.append(proposal)
        if self.drops:
            self.drops -= 1
        else:
            self.decisions.apply(proposal)

    def recorded(self, epoch: int, name: str) -> tuple[str | None, ...] | None:
        return self.decisions.answer(epoch, name)

    def answer(self, epoch: int, name: str, timeout_s: float) -> tuple[str | None, ...] | None:
        if self.decisions.answer(epoch, name) is None:
            self.now += timeout_s
            for _, determinant in [one for one in self.arriving if one[0] <= self.now]:
                self.decisions.apply(determinant)
        return self.decisions.answer(epoch, name)

    def answered_by(self, epoch: int, name: str) -> str | None:
        return self.decisions.answered_by(epoch, name)


def asking(
    function: Callable[[Any], Any], per: Per = "record", retries: int = 0, batch: int = 100, name: str = "score"
) -> Question:
    return Question(name, function, frozenset({"in"}), per, timeout_s=1.0, retries=retries, batch=batch)


def replica(name: str, log: Log, *questions: Question) -> Causal:
    return Causal(questions, Proposer(name, log.append), clock_s=lambda: log.now)


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
    return Fetched(EpochRange(epoch, Positions(), Positions(), TIME_MS, 7, 9), records)


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


@pytest.fixture
def log() -> Log:
    made = Log()
    made.cut(0)
    return made


def test_every_record_gets_its_own_answer_whatever_the_order_of_the_merge(log: Log) -> None:
    asked = replica("a", log, asking(lambda records: [r.value.decode().upper() for r in records], batch=2))

    assert answers(asked.answered(fetched(0, ["p", "q", "r"], ["x", "y"]), log)) == {
        "score": {"p": "P", "q": "Q", "r": "R", "x": "X", "y": "Y"}
    }


def test_two_replicas_use_the_answer_that_stands_first_in_the_log(log: Log) -> None:
    service, epoch = changing(), fetched(0, ["p", "q"])
    late = replica("b", log, asking(service))
    # The answer of `a` is on its way when `b` looks, and overtakes that of `b`.
    service([AskedRecord(None, b"p")])
    log.drops, log.arriving = 1, [(0.0, Determinant(0, "score", 0, 1, ("first", "of a"), "a"))]

    assert answers(late.answered(epoch, log)) == {"score": {"p": "first", "q": "of a"}}
    assert [determinant.answers for determinant in log.appended] == [("p-1", "q-2")]
    assert answers(replica("c", log, asking(service)).answered(epoch, log)) == {"score": {"p": "first", "q": "of a"}}


def test_nobody_is_asked_what_the_log_knows(log: Log) -> None:
    epoch = fetched(0, ["p"])
    first = answers(replica("a", log, asking(changing())).answered(epoch, log))

    def never(_: object) -> list[str]:
        raise AssertionError("asked")

    assert answers(replica("a again", log, asking(never)).answered(epoch, log)) == first
    assert len(log.appended) == 1


def test_that_nobody_answered_is_recorded_and_stays_so(log: Log) -> None:
    def refused(_: object) -> list[str]:
        raise ConnectionRefusedError

    assert answers(replica("a", log, asking(refused)).answered(fetched(0, ["p"]), log)) == {"score": {"p": None}}
    assert answers(replica("b", log, asking(changing())).answered(fetched(0, ["p"]), log)) == {"score": {"p": None}}


def test_a_batch_that_fails_is_asked_again_and_costs_the_other_batches_nothing(log: Log) -> None:
    tries = itertools.count()

    def flaky(records: list[AskedRecord]) -> list[str]:
        if records[0].value == b"p" and next(tries) < 1:
            raise TimeoutError
        if records[0].value == b"r":
            raise TimeoutError
        return ["ok"] * len(records)

    asked = replica("a", log, asking(flaky, retries=1, batch=2))
    assert answers(asked.answered(fetched(0, ["p", "q", "r"]), log)) == {"score": {"p": "ok", "q": "ok", "r": None}}


def test_a_question_per_epoch_is_asked_once_with_its_time(log: Log) -> None:
    times: list[int] = []
    asked = replica("a", log, asking(lambda time_ms: times.append(time_ms) or "1.07", per="epoch", name="rate"))

    assert answers(asked.answered(fetched(0, ["p"], ["x"]), log)) == {"rate": {"p": "1.07", "x": "1.07"}}
    assert times == [TIME_MS]


def test_an_epoch_without_records_of_the_source_is_not_asked_about(log: Log) -> None:
    asked = replica("a", log, asking(changing()), asking(lambda _: "x", per="epoch", name="rate"))

    assert answers(asked.answered(fetched(0, [], []), log)) == {"score": {}, "rate": {}}
    assert answers(asked.answered(fetched(0, ["p"], topic="other"), log)) == {"score": {"p": None}, "rate": {"p": None}}
    assert log.appended == []


def test_a_job_that_asks_nothing_carries_nothing(log: Log) -> None:
    epoch = replica("a", log).answered(fetched(0, ["p"]), log)

    assert to_batch(epoch)["answers"].to_pylist() == [None]


def test_an_answer_that_the_log_does_not_show_is_proposed_again(log: Log) -> None:
    log.drops = 2

    assert answers(replica("a", log, asking(changing())).answered(fetched(0, ["p"]), log)) == {"score": {"p": "p-0"}}
    assert len(log.appended) == 3
    assert len(set(log.appended)) == 1


def test_a_log_that_never_shows_an_answer_is_an_error(log: Log) -> None:
    log.drops = 10_000

    with pytest.raises(ReadTimeoutError, match="no answer to 'score' appeared in the ordering log within 120 s"):
        replica("a", log, asking(changing())).answered(fetched(0, ["p"]), log)
    assert len(log.appended) < 100


def test_a_long_answer_goes_in_parts_and_one_that_is_too_long_counts_as_none(log: Log) -> None:
    long, too_long = "x" * (MOST_BYTES // 2), "x" * MOST_BYTES
    given = {"p": long, "q": long, "r": too_long, "s": "short"}
    asked = replica("a", log, asking(lambda records: [given[r.value.decode()] for r in records]))

    assert answers(asked.answered(fetched(0, list(given)), log)) == {"score": given | {"r": None}}
    assert [determinant.part for determinant in log.appended] == [0, 1]


def test_who_did_not_answer_last_time_leaves_a_moment_to_who_did(log: Log) -> None:
    asked: list[str] = []

    def of(name: str) -> Question:
        return asking(lambda records: asked.append(name) or ["x"] * len(records))

    a, b = replica("a", log, of("a")), replica("b", log, of("b"))
    for one in (a, b):
        one.answered(fetched(0, ["p"]), log)
    log.cut(1)
    log.arriving = [(log.now + 0.01, Determinant(1, "score", 0, 1, ("y",), "a"))]
    assert answers(b.answered(fetched(1, ["p"]), log)) == {"score": {"p": "y"}}
    assert asked == ["a"], "b waited for a, who was first the last time"

    log.cut(2)
    assert answers(b.answered(fetched(2, ["p"]), log)) == {"score": {"p": "x"}}
    assert asked == ["a", "b"], "a is silent: b asks"
    waited = log.now
    log.cut(3)
    b.answered(fetched(3, ["p"]), log)
    assert asked == ["a", "b", "b"]
    assert log.now == waited, "b answered last time, and leaves nobody a moment"


def test_who_hangs_in_a_call_goes_on_when_another_replica_has_answered(log: Log) -> None:
    asked, over = threading.Event(), threading.Event()
    other = Determinant(0, "score", 0, 1, ("of b",), "b")
    hanging = replica("a", log, asking(lambda _: asked.set() or over.wait()))

    def answer_when_asked() -> None:
        assert asked.wait(20)
        log.append(other)

    thread = threading.Thread(target=answer_when_asked)
    thread.start()
    assert answers(hanging.answered(fetched(0, ["p"]), log)) == {"score": {"p": "of b"}}
    assert log.appended == [other]
    over.set()
    thread.join()


def test_warming_up_asks_nobody(log: Log) -> None:
    def never(_: object) -> list[str]:
        raise AssertionError("asked")

    warm = replica("a", log, asking(never))
    assert answers(warm.recorded(fetched(0, ["p"]), log)) == {"score": {"p": None}}
    log.append(Determinant(0, "score", 0, 1, ("y",), "b"))
    assert answers(warm.recorded(fetched(0, ["p"]), log)) == {"score": {"p": "y"}}


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
        replica("a", log, asking(lambda _: result)).answered(fetched(0, ["p", "q"]), log)
    assert log.appended == []


def test_records_that_are_gone_are_missed_rather_than_given_the_answers_of_others(log: Log) -> None:
    replica("a", log, asking(changing())).answered(fetched(0, ["p", "q"]), log)

    with pytest.raises(LostInputError, match="2 answers to 'score' are recorded, for 1 records"):
        replica("b", log, asking(changing())).answered(fetched(0, ["q"]), log)


def test_a_stop_waits_neither_for_the_world_nor_for_the_log(log: Log) -> None:
    asked, over = threading.Event(), threading.Event()
    waiting = replica("a", log, asking(lambda _: asked.set() or over.wait()))
    ended: list[BaseException] = []

    def run() -> None:
        try:
            waiting.answered(fetched(0, ["p"]), log)
        except StoppedError as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert asked.wait(20)
    waiting.stop()
    thread.join(20)
    over.set()
    assert len(ended) == 1

    log.drops = 1
    with pytest.raises(StoppedError):
        waiting.answered(fetched(0, ["p"]), log)
