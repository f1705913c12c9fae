"""Asking for topics' metadata before anything is read."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from confluent_kafka import Consumer, KafkaException

_PATIENCE_S = 1.0


def learn(consumer: Consumer, topics: Iterable[str]) -> None:
    """Let the consumer know where these topics are, before it is assigned to them.

    A consumer whose connection is there already is not told about a topic that it has just been assigned to before
    librdkafka's next look at its topics, once a second (`rd_kafka_topic_scan_all`): the first record came after 950 ms
    instead of 2. If the brokers do not answer within a second, it goes on without.
    """
    for topic in topics:
        with suppress(KafkaException):
            consumer.list_topics(topic, _PATIENCE_S)
