"""A log that is away is noticed by what its reader says, and forgotten when the reader says that it is there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import MissingTopicError
from tandem.kafka.patience import PATIENCE_S, Absences
from tandem.kafka.tail import LogTail
from tandem.kafka.topics import Topics

NOWHERE = KafkaConnection({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"})


class NoTopics(Topics):
    """Brokers that have none."""

    def __init__(self) -> None:
        super().__init__(NOWHERE)

    def all(self) -> dict[str, int]:
        return {}


class Reader:
    """A tail of the logs `a` and `b`, whose client says what the test wants."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.tail = LogTail(NOWHERE, {})
        self.tail._next = {"a": 0, "b": 0}
        self.tail._absences = Absences(NoTopics(), clock_s=lambda: self.now_s)

    def looks(self, after_s: float, *unknown: str) -> None:
        self.now_s += after_s
        self.tail._watch.unknown = frozenset(unknown)
        self.tail._look_for_topics()


@pytest.fixture
def reader() -> Iterator[Reader]:
    made = Reader()
    yield made
    made.tail.close()


def test_a_topic_that_stays_unknown_is_refused(reader: Reader) -> None:
    reader.looks(0.0, "a")
    with pytest.raises(MissingTopicError, match="topic a, a log that the job has written"):
        reader.looks(PATIENCE_S, "a")


def test_one_that_is_known_again_has_all_patience_again(reader: Reader) -> None:
    reader.looks(0.0, "a")
    reader.looks(PATIENCE_S - 1.0)
    assert not reader.tail._absences.are_some
    reader.looks(2.0, "a")


def test_one_that_was_missed_otherwise_is_refused_though_the_client_says_nothing_of_it(reader: Reader) -> None:
    """Its reader has ended: a new one is made, and says of the other topic that it is there."""
    reader.tail._ended = {"a"}
    reader.tail._opened_s = float("inf")
    reader.tail._absences.missed(["a"])
    with pytest.raises(MissingTopicError, match="topic a"):
        reader.looks(PATIENCE_S)
