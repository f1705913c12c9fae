"""The fast way of records into Kafka: blocks, not single records."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import KafkaError, Message, Producer

from bench.workloads.base import Block, Record
from tandem.waiting import Deadline, wait_until

_MOST_WAITING = 100_000
_DEADLINE_S = 60.0


class Sender:
    """Sends records of one topic, in their order. Raises `RuntimeError` where Kafka does not take one."""

    def __init__(self, bootstrap: str, topic: str, compression: str = "none") -> None:
        settings = {
            **{"bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", "linger.ms": 20},
            **{
                "compression.type": compression,
                "batch.size": 500_000,
                "queue.buffering.max.messages": 2 * _MOST_WAITING,
            },
            "delivery.report.only.error": True,  # a call for each record would take longer than sending it
            "on_delivery": self._failed,
        }
        self._producer = Producer(settings)
        self._topic = topic
        self._error = ""

    def send(self, block: Block) -> None:
        """Hand over a block; waits where Kafka is slower than we are."""
        if not wait_until(lambda: self._has_room(len(block.values)), Deadline(_DEADLINE_S), 0.001):
            raise RuntimeError(f"Kafka has not taken a record of {self._topic} for {_DEADLINE_S:.0f} s")
        for partition, messages in _by_partition(block).items():
            # The partition that a message names itself is not obeyed: confluent-kafka 2.16.1 takes that of the call.
            if self._producer.produce_batch(self._topic, messages, partition=partition) != len(messages):
                failed = next(message["_error"] for message in messages if "_error" in message)
                raise RuntimeError(f"not every record of {self._topic} could be sent: {failed!s}")
        self._check()

    def send_records(self, records: Sequence[Record]) -> None:
        """Hand over single records."""
        if records:
            parts = ([r.key for r in records], [r.value for r in records], [r.partition for r in records])
            self.send(Block(*parts))

    def finish(self) -> None:
        """Wait until all are in Kafka."""
        left = self._producer.flush(_DEADLINE_S)
        self._check()
        if left:
            raise RuntimeError(f"{left} records of {self._topic} could not be sent within {_DEADLINE_S:.0f} s")

    def _has_room(self, count: int) -> bool:
        self._producer.poll(0)
        return len(self._producer) + count <= 2 * _MOST_WAITING

    def _failed(self, error: KafkaError | None, _message: Message) -> None:
        self._error = self._error or str(error)

    def _check(self) -> None:
        if self._error:
            raise RuntimeError(f"a record of {self._topic} could not be sent: {self._error}")


def _by_partition(block: Block) -> dict[int, list[dict[str, bytes | None]]]:
    found: dict[int, list[dict[str, bytes | None]]] = {partition: [] for partition in set(block.partitions)}
    for key, value, partition in zip(block.keys, block.values, block.partitions, strict=True):
        found[partition].append({"key": key, "value": value})
    return found
