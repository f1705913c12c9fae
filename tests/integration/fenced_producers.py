"""`python -m integration.fenced_producers BOOTSTRAP TOPIC TIMES`: publishes to a topic of two partitions, and is fenced
in the middle of each transaction, while requests of it are under way."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

from confluent_kafka import Consumer, TopicPartition

from tandem.kafka.client import KafkaConnection
from tandem.kafka.fencing import Fencer
from tandem.kafka.records import OutputRecord
from tandem.kafka.transactions import TransactionalProducer
from tandem.protocol.actions import Outcome
from tandem.waiting import Deadline, wait_until

PATIENCE_S = 30.0
PARTITIONS = 2


def main(bootstrap: str, topic: str, times: int) -> None:
    connection = KafkaConnection({"bootstrap.servers": bootstrap})
    consumer = Consumer(connection.consumer("read_uncommitted"))
    fencer = Fencer(connection)
    owner = TransactionalProducer(connection, topic)

    def record(number: int) -> OutputRecord:
        return OutputRecord(topic, None, b"x" * 200, (), number % PARTITIONS)

    def ends() -> list[int]:
        parts = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        return [consumer.get_watermark_offsets(part, timeout=PATIENCE_S, cached=False)[1] for part in parts]

    def fenced_in_the_middle() -> Iterator[OutputRecord]:
        before = ends()
        yield from map(record, range(PARTITIONS))
        assert wait_until(
            lambda: all(now > then for now, then in zip(ends(), before, strict=True)), Deadline(PATIENCE_S)
        )
        fencer.fence(topic, PATIENCE_S)
        yield from map(record, range(100))

    ended = list[object]()  # by what threads ended
    threading.excepthook = ended.append
    for _ in range(times):
        fencer.expect(topic)
        owner.start(PATIENCE_S)
        assert owner.publish(fenced_in_the_middle(), record(0), PATIENCE_S) is Outcome.FENCED
    consumer.close()
    assert wait_until(lambda: all(thread.name != "given-up" for thread in threading.enumerate()), Deadline(PATIENCE_S))
    assert not ended, ended


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
