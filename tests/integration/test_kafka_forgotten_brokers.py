"""A client that has forgotten where the brokers are is replaced by another one, and nothing is lost, repeated or skipped.

librdkafka's clients forget them seldom (see `tandem.kafka.workarounds`); here the first of each kind is not told of any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from integration.written_job import PATIENCE_S, everything
from tandem.intake import fetch
from tandem.intake.fetch import InputReader
from tandem.kafka import admin, appender, fencing, tail
from tandem.kafka.appender import ProposalAppender
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import ReadTimeoutError
from tandem.kafka.fencing import Fencer
from tandem.kafka.records import OutputRecord
from tandem.kafka.tail import LogTail
from tandem.kafka.topics import Topics
from tandem.kafka.transactions import TransactionalProducer
from tandem.protocol.actions import Outcome
from tandem.protocol.codec import decode_proposal
from tandem.protocol.shipping import ShippingTurn
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import LagReport, Offsets, TopicPartition
from tandem.shipping import ShippedState, Shipper, ShipperSettings, shipper
from tandem.shipping.values import epoch_and_shipper
from tandem.waiting import Deadline, wait_until
from unit.shipping.builders import IDENTITY, checkpoint_with

pytestmark = pytest.mark.integration


class Forgetful:
    """Makes clients; the first, or the first `forgetful` of them, know no broker."""

    def __init__(self, kind: Callable[[dict[str, Any]], Any], forgetful: int = 1, **changes: Any) -> None:
        self.made = 0
        self._kind = kind
        self._forgetful = forgetful
        self._changes = {name.replace("_", "."): value for name, value in changes.items()}

    def __call__(self, settings: Mapping[str, Any]) -> Any:
        self.made += 1
        if self.made > self._forgetful:
            return self._kind(dict(settings))
        forgotten = {name: value for name, value in settings.items() if name != "bootstrap.servers"}
        return self._kind({**forgotten, **self._changes})


def write(connection: KafkaConnection, topic: str, *values: bytes) -> None:
    producer = Producer(connection.plain_producer())
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(PATIENCE_S) == 0


def test_a_tail_goes_on_where_it_was(connection: KafkaConnection, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    consumers = Forgetful(Consumer)
    monkeypatch.setattr(tail, "Consumer", consumers)
    write(connection, topic, b"0", b"1", b"2")
    with LogTail(connection, {topic: 1}) as reader:
        assert [record.value for record in everything(reader)] == [b"1", b"2"]
    assert consumers.made == 2


def test_an_epoch_is_fetched_whole(connection: KafkaConnection, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    consumers = Forgetful(Consumer)
    monkeypatch.setattr(fetch, "Consumer", consumers)
    monkeypatch.setattr(fetch, "SILENCE_S", 0.5)
    write(connection, topic, b"0", b"1", b"2")
    at = TopicPartition(topic, 0)
    reader = InputReader(connection, "read_committed")
    try:
        ((_, first),) = reader.fetch(Offsets({at: 0}), Offsets({at: 2}), PATIENCE_S)
        ((_, second),) = reader.fetch(Offsets({at: 2}), Offsets({at: 3}), PATIENCE_S)
    finally:
        reader.close()
    assert [message.value() for message in (*first, *second)] == [b"0", b"1", b"2"]
    assert consumers.made >= 2, "one that is slow is taken for another silent one"


def test_a_proposal_after_one_that_was_not_delivered_is(
    connection: KafkaConnection, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    producers = Forgetful(Producer, message_timeout_ms=200)
    monkeypatch.setattr(appender, "Producer", producers)
    proposals = ProposalAppender(connection, topic)
    epoch = 0

    def propose() -> bool:
        nonlocal epoch
        proposals.append(LagReport("replica-0", epoch := epoch + 1, 1.0))
        return producers.made > 1

    assert wait_until(propose, Deadline(PATIENCE_S))
    delivered: list[object] = []
    with LogTail(connection, {topic: 0}) as reader:

        def arrives() -> bool:
            propose()  # again and again, as whoever still wants it does: each lives for 3 s
            delivered.extend(decode_proposal(record.value) for record in reader.poll(0.1))
            return bool(delivered)

        assert wait_until(arrives, Deadline(PATIENCE_S))
    proposals.close()
    assert isinstance(delivered[0], LagReport)


def test_the_ends_of_topics_are_known_again(
    connection: KafkaConnection, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin, "AdminClient", Forgetful(AdminClient))
    write(connection, topic, b"0")
    asked = Topics(connection, 0.3)
    for _ in range(3):
        with pytest.raises(ReadTimeoutError, match="no answer on the offsets"):
            asked.ends({topic: 1})
    assert asked.ends({topic: 1}, timeout_s=PATIENCE_S) == {TopicPartition(topic, 0): 1}


def test_what_a_shipper_could_not_deliver_is_shipped_after_all(
    connection: KafkaConnection, topic: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    producers = Forgetful(Producer, message_timeout_ms=200)
    monkeypatch.setattr(shipper, "Producer", producers)
    checkpoint = checkpoint_with(tmp_path / "checkpoint", range(3))
    turn = ShippingTurn("a", AdaptiveTimeout(1.0, 1.0))
    state = ShippedState(IDENTITY, "a", checkpoint)
    shipping = Shipper(connection, ShipperSettings(topic, 1_000_000), state, turn)
    for epoch in range(3):
        shipping.published(epoch)
    shipping.start()
    shipped: list[int] = []
    with LogTail(connection, {topic: 0}) as reader:

        def all_are() -> bool:
            shipped.extend(epoch_and_shipper(record.value)[0] for record in reader.poll(0.1))
            return {*shipped} >= {0, 1, 2}

        try:
            assert wait_until(all_are, Deadline(PATIENCE_S)), f"only {shipped} were shipped"
        finally:
            shipping.stop()
    assert list(dict.fromkeys(shipped)) == [0, 1, 2], "what is answered late is shipped again"
    assert producers.made >= 2


def test_an_owner_is_fenced_although_the_producer_kept_for_that_is_of_no_use(
    connection: KafkaConnection, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = TransactionalProducer(connection, topic)
    owner.start(PATIENCE_S)
    producers = Forgetful(Producer, 1)
    monkeypatch.setattr(fencing, "Producer", producers)
    fencer = Fencer(connection)
    fencer.expect(topic)
    fencer.fence(topic, PATIENCE_S)
    assert producers.made == 2
    assert owner.publish([], OutputRecord(topic, None, b"marker", []), PATIENCE_S) is Outcome.FENCED
