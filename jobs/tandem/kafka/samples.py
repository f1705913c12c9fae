"""Records of partitions to look at: the first from given offsets on, and the newest."""

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


def latest_keys(
    connection: KafkaConnection, ends: Mapping[TopicPartition, int], most: int = 50, timeout_s: float = 10.0
) -> dict[TopicPartition, frozenset[bytes]]:
    """The keys of up to `most` records before `ends` of each partition, aborted records included; without those of none.

    Partitions of which nothing came within `timeout_s` have none.
    """
    found: dict[TopicPartition, set[bytes]] = {tp: set() for tp in ends}
    left = {tp: end for tp, end in ends.items() if end > 0}
    settings = connection.consumer("read_uncommitted") | {"auto.offset.reset": "earliest"}
    consumer = Consumer(settings)
    deadline = time.monotonic() + timeout_s
    try:
        consumer.assign([KafkaTopicPartition(*tp, max(0, end - most)) for tp, end in left.items()])
        while left and time.monotonic() < deadline:
            for message in consumer.consume(_BATCH, 0.1):
                tp, offset = TopicPartition(message.topic() or "", message.partition() or 0), message.offset()
                if message.error() is None and (key := message.key()) and offset is not None and offset < ends[tp]:
                    found[tp].add(key if isinstance(key, bytes) else key.encode())
                if message.error() is not None or (offset is not None and offset >= ends[tp] - 1):
                    left.pop(tp, None)
    finally:
        consumer.close()
    return {tp: frozenset(keys) for tp, keys in found.items()}
