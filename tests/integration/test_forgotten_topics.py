"""A broker that starts does not know all topics for a moment: readers of the job's logs have patience, and skip nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer

from integration.answering_proxy import AnsweringProxy
from integration.written_job import PATIENCE_S
from tandem.devservers import KafkaBroker
from tandem.kafka import tail
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import MissingTopicError
from tandem.kafka.tail import LogTail
from tandem.kafka.topics import Topics
from tandem.waiting import Deadline, wait_until

pytestmark = pytest.mark.integration


class Reader:
    """A log that is read through a proxy, by a client that has known its topic for longer than it has patience itself."""

    def __init__(self, proxy: AnsweringProxy, kafka: KafkaBroker, topic: str, patience_s: float = 30.0) -> None:
        self.topic = topic
        topics = Topics(KafkaConnection({"bootstrap.servers": kafka.bootstrap}))
        assert wait_until(lambda: topic in topics.all(), Deadline(PATIENCE_S))  # else the client takes it for unknown
        self._producer = Producer({"bootstrap.servers": kafka.bootstrap, "enable.idempotence": True})
        impatient = {"bootstrap.servers": proxy.bootstrap, "topic.metadata.propagation.max.ms": "0"}
        self.tail = LogTail(KafkaConnection(impatient), {topic: 0}, patience_s)
        self.read: list[bytes | None] = []

    def write(self, value: bytes) -> None:
        self._producer.produce(self.topic, value, partition=0)
        assert self._producer.flush(PATIENCE_S) == 0

    def has_read(self, *values: bytes) -> bool:
        """Whether these, and no others, come to be read, in this order."""

        def has_all() -> bool:
            self.read += [record.value for record in self.tail.poll(0.1)]
            return len(self.read) >= len(values)

        wait_until(has_all, Deadline(PATIENCE_S), 0)
        return self.read == list(values)


@pytest.fixture
def proxy(kafka: KafkaBroker, topic: str) -> Iterator[AnsweringProxy]:
    made = AnsweringProxy(kafka.bootstrap, topic)
    yield made
    made.close()


def test_a_log_is_read_on_after_an_answer_without_its_topic(
    proxy: AnsweringProxy, kafka: KafkaBroker, topic: str
) -> None:
    reader = Reader(proxy, kafka, topic)
    with reader.tail:
        reader.write(b"0")
        assert reader.has_read(b"0")
        with proxy.hiding():
            assert wait_until(lambda: proxy.answers_without >= 1 and not reader.tail.poll(0.1), Deadline(PATIENCE_S))
            reader.write(b"1")
        assert reader.has_read(b"0", b"1")


class EndsOnce:
    """A consumer that reads one record, says that the partition is gone, and then nothing; those made after it are whole."""

    made = 0

    def __new__(cls, settings: dict[str, Any]) -> Any:
        cls.made += 1
        return super().__new__(cls) if cls.made == 1 else Consumer(settings)

    def __init__(self, settings: dict[str, Any]) -> None:
        self._consumer = Consumer(settings)
        self._polls = self._read_one()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def poll(self, timeout_s: float) -> Message | None:
        for message in self._polls:
            return message
        self._consumer.poll(timeout_s)
        return None

    def consume(self, *_: Any) -> list[Message]:
        return []

    def _read_one(self) -> Iterator[Message]:
        while (message := self._consumer.poll(0.1)) is None or message.error() is not None:
            pass
        yield message
        gone = KafkaError(KafkaError._UNKNOWN_PARTITION)
        yield Message(message.topic(), message.partition(), -1001, error=gone)


def test_a_reader_that_has_ended_on_such_an_answer_is_replaced(
    kafka: KafkaBroker, proxy: AnsweringProxy, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "Consumer", EndsOnce)
    reader = Reader(proxy, kafka, topic)
    with reader.tail:
        reader.write(b"0")
        assert reader.has_read(b"0")
        reader.write(b"1")
        assert reader.has_read(b"0", b"1")
    assert EndsOnce.made == 2


def test_a_log_that_stays_away_is_refused_with_what_to_do(
    proxy: AnsweringProxy, kafka: KafkaBroker, topic: str
) -> None:
    reader = Reader(proxy, kafka, topic, patience_s=1.0)
    with reader.tail:
        reader.write(b"0")
        assert reader.has_read(b"0")
        Topics(KafkaConnection({"bootstrap.servers": kafka.bootstrap})).delete([topic])
        with pytest.raises(
            MissingTopicError, match=r"has not been there for 1 s: it was deleted.*another metadata.name"
        ):
            reader.has_read(b"0", b"never")
