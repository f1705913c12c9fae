"""Reading ranges of topics through, record by record; and how far one partition may be read ahead of another."""

import time
from collections.abc import Callable, Iterable, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaTopicPartition

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import ReadTimeoutError
from tandem.kafka.prefetch import Changes, Pausing
from tandem.kafka.tail import is_transient
from tandem.protocol.values import TopicPartition


class Lead:
    """Pauses partitions that are more than `window` epochs ahead of the last one, until it has halved that.

    The last one is never paused, so reading always goes on.
    """

    def __init__(self, partitions: Iterable[TopicPartition], window: int) -> None:
        self._epochs = dict.fromkeys(partitions, -1)
        self._pausing = Pausing(window)
        self._ended: set[TopicPartition] = set()

    def reached(self, partition: TopicPartition, epoch: int) -> None:
        """A record of `epoch` was read."""
        if epoch > self._epochs[partition]:
            self._epochs[partition] = epoch

    def ended(self, partition: TopicPartition) -> None:
        """Nobody need wait for this partition any more."""
        self._ended.add(partition)

    def start_again(self) -> None:
        """All partitions are read on, to later ends."""
        self._ended.clear()

    def changes(self) -> Changes:
        """What to pause and to resume; they count as paused and resumed from now on."""
        under_way = [epoch for partition, epoch in self._epochs.items() if partition not in self._ended]
        last = min(under_way, default=max(self._epochs.values(), default=0))
        return self._pausing.changes({partition: epoch - last for partition, epoch in self._epochs.items()})


_BATCH = 5_000


def read_through(
    connection: KafkaConnection,
    isolation_level: str,
    ranges: Mapping[TopicPartition, tuple[int, int]],
    on_record: Callable[[TopicPartition, int], None],
    progress: Callable[[int, int], None],
    stall_s: float = 30.0,
) -> None:
    """Call `on_record` with the place of each record in `ranges`: from, up to. Raises `ReadTimeoutError`."""
    if not ranges:
        return
    reached = {tp: start for tp, (start, _) in ranges.items()}
    total = sum(end - start for start, end in ranges.values())
    consumer = Consumer(connection.consumer(isolation_level))
    try:
        consumer.assign([KafkaTopicPartition(*tp, start) for tp, start in reached.items()])
        news_at = time.monotonic()
        while any(reached[tp] < end for tp, (_, end) in ranges.items()):
            messages = consumer.consume(_BATCH, 0.2)
            for message in messages:
                tp, offset, error = (
                    TopicPartition(message.topic() or "", message.partition() or 0),
                    message.offset() or 0,
                    message.error(),
                )
                if error is None and reached[tp] <= offset < ranges[tp][1]:
                    on_record(tp, offset)
                if error is None:
                    reached[tp] = max(reached[tp], offset + 1)
                elif error.code() == KafkaError._PARTITION_EOF:
                    reached[tp] = max(reached[tp], offset)
                elif error.fatal() or not is_transient(error):
                    raise KafkaException(error)
            if messages:
                news_at = time.monotonic()
            elif time.monotonic() - news_at > stall_s:
                raise ReadTimeoutError(f"nothing came for {stall_s:.0f} s while the inputs were counted. Try again")
            progress(sum(min(reached[tp], end) - start for tp, (start, end) in ranges.items()), total)
    finally:
        consumer.close()
