"""What of an answer cannot be used is missing, and counted: texts that no column holds, and those that are too long."""

from __future__ import annotations

import pytest

from tandem.jobapi.questions import as_determinant
from tandem.protocol.determinants import MOST_EPOCH_BYTES
from tandem.protocol.values import Determinant
from unit.engine.asking_replicas import TIME_MS, Log, Replica, answers, asking, changing, fetched


@pytest.fixture
def log() -> Log:
    made = Log()
    made.cut(0)
    return made


def test_an_answer_that_is_no_utf8_counts_as_none(log: Log) -> None:
    asked = Replica("a", log, asking(lambda _: ["\ud83d", "fits"]))
    calls: list[tuple[str, int, int, str]] = []
    asked.causal.on_calls = lambda *what: calls.append(what)

    assert answers(asked.answered(fetched(0, ["p", "q"]))) == {"score": {"p": None, "q": "fits"}}
    assert calls == [("score", 2, 1, "the answer has half of a surrogate pair, so it is no UTF-8")]


def test_an_answer_in_the_log_that_is_no_utf8_is_the_same_in_all_replicas(log: Log) -> None:
    log.append(Determinant(0, "score", 0, 1, ("x\ud83d", "é"), "a"))

    for name in ("a", "b"):
        reader = Replica(name, log, asking(changing()))
        assert answers(reader.answered(fetched(0, ["p", "q"]))) == {"score": {"p": "x?", "q": "é"}}


@pytest.mark.parametrize(
    ("value", "schema", "reason"),
    [
        ("1.5", "DOUBLE", "TypeError: the function returned a str for a column DOUBLE, which Spark reads as null"),
        (1.5, "int", "TypeError: the function returned a float for a column int, which Spark reads as null"),
        (True, "BIGINT", "TypeError: the function returned a bool for a column BIGINT, which Spark reads as null"),
        ({1.5}, "STRING", "TypeError: Object of type set is not JSON serializable"),
    ],
)
def test_a_determinant_that_spark_would_read_as_null_counts_as_missing(
    log: Log, value: object, schema: str, reason: str
) -> None:
    asked = Replica("a", log, asking(as_determinant(lambda _: value, schema), per="epoch"))
    calls: list[tuple[str, int, int, str]] = []
    asked.causal.on_calls = lambda *what: calls.append(what)

    assert answers(asked.answered(fetched(0, ["p"]))) == {"score": {"p": None}}
    assert calls == [("score", 1, 1, reason)]


@pytest.mark.parametrize(
    ("value", "schema", "answer"),
    [
        (7, "DOUBLE", '{"value": 7}'),
        ("NaN", "double", '{"value": "NaN"}'),
        (7, "INT", '{"value": 7}'),
        ("1.5", "DECIMAL(4,2)", '{"value": "1.5"}'),
        (None, "INT", None),
    ],
)
def test_a_determinant_that_fits_its_column_is_answered_as_json(value: object, schema: str, answer: str | None) -> None:
    assert as_determinant(lambda _: value, schema)(TIME_MS) == answer


def test_an_answer_about_an_epoch_may_be_no_longer_than_its_copies_can_bear(log: Log) -> None:
    texts = iter(["x" * MOST_EPOCH_BYTES, "x" * (MOST_EPOCH_BYTES - 3)])
    asked = Replica("a", log, asking(lambda _: next(texts), per="epoch"))
    calls: list[tuple[int, int, str]] = []
    asked.causal.on_calls = lambda _, *what: calls.append(what)

    assert answers(asked.answered(fetched(0, ["p", "q"]))) == {"score": {"p": None, "q": None}}
    log.cut(1)
    assert {len(one or "") for one in answers(asked.answered(fetched(1, ["p", "q"])))["score"].values()} == {15_997}
    assert [what[:2] for what in calls] == [(1, 1), (1, 0)]
    assert "16003 bytes as JSON, over 16000" in calls[0][2]


def test_a_longer_one_that_an_earlier_version_wrote_stays(log: Log) -> None:
    log.append(Determinant(0, "score", 0, 1, ("x" * 2 * MOST_EPOCH_BYTES,), "a"))
    reader = Replica("b", log, asking(changing(), per="epoch"))

    assert answers(reader.answered(fetched(0, ["p"]))) == {"score": {"p": "x" * 2 * MOST_EPOCH_BYTES}}


def test_the_answers_to_a_question_that_leave_no_room_for_them_are_null_in_every_replica(log: Log) -> None:
    log.append(Determinant(0, "rate", 0, 1, ("é" * 10,), "a"))
    log.append(Determinant(0, "score", 0, 1, ("x" * 30, "y" * 11), "a"))
    log.append(Determinant(0, "short", 0, 1, ("z", None), "a"))
    questions = (asking(list, per="epoch", name="rate"), asking(list), asking(list, name="short"))

    for name, most_bytes, score in (("a", 80, {"p": None, "q": None}), ("b", 82, {"p": "x" * 30, "q": "y" * 11})):
        reader = Replica(name, log, *questions, most_bytes=most_bytes)
        found = answers(reader.answered(fetched(0, ["p", "q"])))
        assert found == {"rate": dict.fromkeys("pq", "é" * 10), "score": score, "short": {"p": "z", "q": None}}
