"""The first records of partitions from given offsets on: when they were written, and how large they are."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from tandem.kafka.client import KafkaConnection
from tandem.protocol.values import TopicPartition

_FETCH_BYTES = 65_536
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Sample:
    """`written_ms` : the timestamp of the first record (Unix, ms); `mean_bytes` : of `records` records, uncompressed."""

    written_ms: int
    mean_bytes: float
    records: int


def first_records(
    connection: KafkaConnection, starts: Mapping[TopicPartition, int], timeout_s: float = 5.0
) -> dict[TopicPartition, Sample]:
    """What stands first in each partition from `starts` on, aborted records included; little more is fetched than that.

    Partitions of which nothing came within `timeout_s` are left out.
    """
    if not starts:
        return {}
    settings = connection.consumer("read_uncommitted") | {
        "fetch.message.max.bytes": _FETCH_BYTES,
        "queued.max.messages.kbytes": 256,
    }
    consumer = Consumer(settings)
    written: dict[TopicPartition, int] = {}
    sizes: dict[TopicPartition, list[int]] = {}
    deadline = time.monotonic() + timeout_s
    try:
        consumer.assign([KafkaTopicPartition(*tp, offset) for tp, offset in starts.items()])
        while len(written) < len(starts) and time.monotonic() < deadline:
            for message in consumer.consume(_BATCH, 0.1):
                tp = TopicPartition(message.topic() or "", message.partition() or 0)
                if message.error() is None:
                    written.setdefault(tp, message.timestamp()[1])
                    sizes.setdefault(tp, []).append(len(message) + len(message.key() or b""))
    finally:
        consumer.close()
    return {tp: Sample(at, sum(sizes[tp]) / len(sizes[tp]), len(sizes[tp])) for tp, at in written.items()}
