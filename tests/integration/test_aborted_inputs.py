"""A large transaction that was aborted is got past, though librdkafka skips its records without a word."""

from __future__ import annotations

from math import inf

import pytest
from confluent_kafka import Producer

from integration.written_job import PATIENCE_S, create_topics
from tandem.devservers import KafkaBroker
from tandem.intake import fetch
from tandem.intake.fetch import InputReader
from tandem.kafka import fetch_watch
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import Topics
from tandem.orderer import sizes as module
from tandem.orderer.sizes import InputSizes
from tandem.protocol.values import Offsets, TopicPartition
from tandem.waiting import Deadline

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

ABORTED, EACH = 300, 1_000_000
SILENCE_S = 0.3
"""Less than a broker needs for so many bytes."""


@pytest.fixture
def topic(kafka: KafkaBroker, topic_prefix: str) -> str:
    """Has one record that can be read, behind those of a transaction that was aborted."""
    create_topics(kafka.bootstrap, {topic_prefix: 1})
    config = {"bootstrap.servers": kafka.bootstrap, "transactional.id": topic_prefix, "message.max.bytes": 2 * EACH}
    producer = Producer({**config, "queue.buffering.max.kbytes": 1_000_000})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for _ in range(ABORTED):
        producer.produce(topic_prefix, bytes(EACH))
    producer.flush(PATIENCE_S)
    producer.abort_transaction(PATIENCE_S)
    producer.begin_transaction()
    producer.produce(topic_prefix, b"read")
    producer.commit_transaction(PATIENCE_S)
    return topic_prefix


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """With time for a small part of the records."""
    monkeypatch.setattr(fetch_watch, "_INTERVAL_MS", 20)
    for one in (fetch, module):
        monkeypatch.setattr(one, "SILENCE_S", SILENCE_S)
        monkeypatch.setattr(one, "MOST_SILENCE_S", SILENCE_S)


def test_an_orderer_cuts_behind_it(connection: KafkaConnection, topic: str) -> None:
    tp = TopicPartition(topic, 0)
    ends = Topics(connection).ends({topic: 1})
    sizes = InputSizes(connection, {topic: "read_committed"}, 1_000_000, 10_000)
    deadline = Deadline(PATIENCE_S)
    while sizes.bounded(Offsets({tp: 0}), ends, 0, 0.0) == {tp: 0}:
        assert not deadline.passed, "it begins again and again"
    assert sizes.bounded(Offsets({tp: 0}), ends, 0, 0.0)[tp] > ABORTED
    sizes.close()


def test_a_replica_fetches_what_is_behind_it(
    connection: KafkaConnection, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_PATIENCE_S", PATIENCE_S)
    reader = InputReader(connection, "read_committed")
    ends = Topics(connection).ends({topic: 1})

    ((_, messages),) = reader.fetch(Offsets(), ends, inf)

    assert [message.value() for message in messages] == [b"read"]
    reader.close()
