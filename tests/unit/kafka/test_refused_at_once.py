"""What a broker or a client refuses at once, again and again, is asked now and then, and not as fast as the machine can."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from tandem.kafka import given_up
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import MissingTopicError, ProducerLostError
from tandem.kafka.producer import Producer
from tandem.kafka.topics import Topics
from tandem.kafka.transactions import TransactionalProducer

NOWHERE = KafkaConnection({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"})


class Refused:
    """A client that has a message left, and fails at once whatever it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __len__(self) -> int:
        return 1

    def init_transactions(self, _timeout_s: float) -> None:
        self._refuse()

    def flush(self, _timeout_s: float) -> None:
        self._refuse()

    def purge(self, **_: bool) -> None:
        """Nothing."""

    def poll(self, _timeout_s: float) -> None:
        """Nothing."""

    def _refuse(self) -> None:
        self.asked += 1
        raise KafkaException(KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS, "loading", retriable=True))


class Refusing(TransactionalProducer):
    """That of such a client."""

    def __init__(self) -> None:
        super().__init__(NOWHERE, "job.replica-0.aaaa")
        self.client = Refused()

    def _made(self, _settings: object) -> Producer:
        return cast(Producer, self.client)


class NeverThere(Topics):
    """Brokers that do not show a topic that was made."""

    asked = 0

    def partitions(self, names: Collection[str]) -> dict[str, int]:  # type: ignore[override]
        self.asked += 1
        raise MissingTopicError(f"topic {names} does not exist")


def test_a_producer_that_cannot_be_initialised_yet() -> None:
    producer = Refusing()
    with pytest.raises(ProducerLostError, match="loading"):
        producer.start(0.3)
    assert 2 <= producer.client.asked < 20


def test_a_producer_that_was_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Refused()
    monkeypatch.setattr(given_up, "_LONGEST_S", 0.3)
    monkeypatch.setattr(given_up, "_kept", [])
    given_up._end(cast(Producer, client))
    assert 2 <= client.asked < 20


def test_a_topic_that_was_just_made() -> None:
    topics = NeverThere(NOWHERE, timeout_s=0.3)
    with pytest.raises(MissingTopicError):
        topics._visible(["new"])
    assert 2 <= topics.asked < 30
