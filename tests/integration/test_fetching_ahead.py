"""While one input partition is waited for, the others do not fill the memory; and nothing is lost or repeated for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from integration.tiers import variants
from integration.waiting import eventually
from integration.written_job import PATIENCE_S, create_topics, transactional_producer
from tandem.devservers import KafkaBroker
from tandem.intake import fetch
from tandem.intake.fetch import InputReader
from tandem.kafka.client import KafkaConnection
from tandem.kafka.prefetch import Share
from tandem.protocol.values import Offsets, TopicPartition

pytestmark = pytest.mark.integration

EPOCH_S = 4 * PATIENCE_S
"""An epoch waits for all that happens in a block, each step of which has its own patience."""

LONG, SLOW, LIVELY = range(3)
ROUNDS = 30
CUT = 7_000
SHARE = Share.of(1)
MOST = SHARE.records + fetch._BATCH
"""Records ahead: enough of them, and what came at once with the last of those."""


class Counted(Consumer):
    """Counts consumers, and what is asked of them all."""

    made = pauses = resumes = 0

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        Counted.made += 1

    def pause(self, partitions: list[KafkaTopicPartition]) -> None:
        super().pause(partitions)
        Counted.pauses += 1

    def resume(self, partitions: list[KafkaTopicPartition]) -> None:
        super().resume(partitions)
        Counted.resumes += 1


class Repeating(Counted):
    """Resumes at the beginning, as no client should."""

    def resume(self, partitions: list[KafkaTopicPartition]) -> None:
        super().resume(partitions)
        for one in partitions:
            self.seek(KafkaTopicPartition(one.topic, one.partition, 0))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> type[Counted]:
    monkeypatch.setattr(fetch, "Consumer", Counted)
    Counted.made = Counted.pauses = Counted.resumes = 0
    return Counted


@dataclass
class Reading:
    """A topic with the partitions LONG, SLOW and LIVELY, and its reader. `ends`: how far each was fetched."""

    topic: str
    reader: InputReader
    producer: Producer
    ends: list[int] = field(default_factory=lambda: [0, 0, 0])
    values: list[list[bytes | None]] = field(default_factory=lambda: [[], [], []])

    def write(self, partition: int, values: Sequence[bytes], **more: Any) -> None:
        """Without a transaction. `more`: key and headers."""
        for value in values:
            self.producer.produce(self.topic, value, partition=partition, **more)
        assert self.producer.flush(PATIENCE_S) == 0

    def held(self, partition: int) -> int:
        """Records that the reader has and that are not wanted yet."""
        return self.reader.ahead.get(TopicPartition(self.topic, partition), 0)

    def fetch(self, *ends: int) -> None:
        """One epoch; `ends` of LONG, SLOW and LIVELY."""
        starts, self.ends = self.ends, [*ends]
        fetched = self.reader.fetch(self._positions(starts), self._positions(self.ends), EPOCH_S)
        for tp, messages in fetched:
            self.values[tp.partition] += [message.value() for message in messages]

    @contextmanager
    def waiting_for_the_slow(self, slow: Sequence[bytes]) -> Iterator[None]:
        """An epoch with `slow` of SLOW, which is there only after the block; and of LONG hardly anything."""
        with ThreadPoolExecutor(1) as pool:
            epoch = pool.submit(self.fetch, self.ends[LONG] + 10, self.ends[SLOW] + len(slow), 0)
            try:
                yield
            finally:
                self.write(SLOW, slow)
            epoch.result(EPOCH_S)

    def goes_on_reading(self, rounds: int) -> None:
        """The reader takes in what comes: each round, a record that was written after the last one came."""
        for number in range(self.held(LIVELY), self.held(LIVELY) + rounds):
            self.write(LIVELY, [b"%d" % number])
            assert eventually(lambda before=number: self.held(LIVELY) > before), "nothing is read any more"

    def fetch_the_rest(self, long_end: int) -> None:
        """Epochs up to the end of LONG, and all of LIVELY with the last."""
        for end in range(self.ends[LONG] + CUT, long_end, CUT):
            self.fetch(end, self.ends[SLOW], 0)
        self.fetch(long_end, self.ends[SLOW], self.held(LIVELY))

    def _positions(self, ends: list[int]) -> Offsets:
        return Offsets({TopicPartition(self.topic, partition): end for partition, end in enumerate(ends)})


@pytest.fixture
def make_reading(
    kafka: KafkaBroker, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Reading]]:
    """With one consumer to the end, so that no other one reads what the first has left paused."""
    monkeypatch.setattr(fetch, "SILENCE_S", 2 * EPOCH_S)
    made: list[Reading] = []

    def make(isolation_level: str = "read_committed") -> Reading:
        create_topics(kafka.bootstrap, {topic_prefix: 3})
        connection = KafkaConnection({"bootstrap.servers": kafka.bootstrap})
        producer = Producer({**connection.plain_producer(), "linger.ms": 5, "queue.buffering.max.messages": 1_000_000})
        made.append(Reading(topic_prefix, InputReader(connection, isolation_level), producer))
        return made[0]

    yield make
    for reading in made:
        reading.reader.close()


def numbers(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def test_what_is_held_of_a_long_partition_is_bounded_while_a_slow_one_is_waited_for(
    make_reading: Callable[..., Reading], counted: type[Counted]
) -> None:
    reading = make_reading()
    long, slow = numbers(200_000), numbers(3)
    reading.write(LONG, long)

    with reading.waiting_for_the_slow(slow):
        assert eventually(lambda: reading.held(LONG) > SHARE.records)
        reading.goes_on_reading(ROUNDS)
        assert reading.held(LONG) <= MOST
        assert (counted.pauses, counted.resumes) == (1, 0)
    reading.fetch_the_rest(len(long))

    assert reading.values == [long, slow, numbers(ROUNDS)]
    assert counted.pauses <= 1 + len(long) / (SHARE.records / 2), "half of it is used up before it goes on"


LARGE: dict[str, tuple[bytes, dict[str, Any]]] = {
    "value": (b"%20000d", {}),
    "key": (b"%d", {"key": bytes(20_000)}),
    "header": (b"%d", {"headers": [("large", bytes(20_000))]}),
}


@pytest.mark.parametrize("large", LARGE)
def test_of_large_records_fewer_are_held(make_reading: Callable[..., Reading], large: str) -> None:
    reading = make_reading()
    size = 20_000
    value, more = LARGE[large]
    long, slow = [value % number for number in range(5_000)], numbers(6)
    reading.write(LONG, long, **more)
    enough = SHARE.bytes // size

    for part in (slow[:3], slow[3:]):
        with reading.waiting_for_the_slow(part):
            assert eventually(lambda: reading.held(LONG) > 0.9 * enough), "a header counts a little more than its bytes"
            reading.goes_on_reading(ROUNDS)
            assert reading.held(LONG) <= 3 * enough
        reading.fetch(reading.ends[LONG] + reading.held(LONG) - 10, reading.ends[SLOW], 0)
    reading.fetch_the_rest(len(long))

    assert reading.values == [long, slow, numbers(2 * ROUNDS)]


@pytest.mark.parametrize("isolation_level", variants(["read_committed", "read_uncommitted"], in_ci=["read_committed"]))
def test_transactions_are_read_to_their_ends_after_a_pause(
    kafka: KafkaBroker, make_reading: Callable[..., Reading], isolation_level: str
) -> None:
    """Each hundredth offset is a control record; the last records are aborted, so that only the end of LONG is seen."""
    reading = make_reading(isolation_level)
    producer = transactional_producer(kafka.bootstrap, reading.topic)
    long, slow, size, count = [], numbers(3), 99, 800
    for transaction in range(count):
        values = [b"%d/%d" % (transaction, number) for number in range(size)]
        is_aborted = transaction % 5 == 3 or transaction == count - 1
        producer.begin_transaction()
        for value in values:
            producer.produce(reading.topic, value, partition=LONG)
        assert producer.flush(PATIENCE_S) == 0
        (producer.abort_transaction if is_aborted else producer.commit_transaction)(PATIENCE_S)
        if isolation_level == "read_uncommitted" or not is_aborted:
            long += values

    with reading.waiting_for_the_slow(slow):
        assert eventually(lambda: reading.held(LONG) > SHARE.records)
        reading.goes_on_reading(ROUNDS)
        assert reading.held(LONG) <= MOST
    reading.fetch_the_rest(count * (size + 1))

    assert reading.values == [long, slow, numbers(ROUNDS)]


def test_a_consumer_that_takes_the_place_of_a_silent_one_holds_no_more(
    make_reading: Callable[..., Reading], counted: type[Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "SILENCE_S", 0.3)
    monkeypatch.setattr(fetch, "MOST_SILENCE_S", 0.3)
    reading = make_reading()
    long, slow = numbers(200_000), numbers(3)
    reading.write(LONG, long)

    with reading.waiting_for_the_slow(slow):
        assert eventually(lambda: counted.made >= 10), f"{counted.made} consumers were made"
        assert reading.held(LONG) <= MOST
    reading.fetch_the_rest(len(long))

    assert reading.values == [long, slow, []]


def test_records_that_come_again_after_a_pause_count_once(
    make_reading: Callable[..., Reading], counted: type[Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "Consumer", Repeating)
    reading = make_reading()
    long, slow = numbers(100_000), numbers(3)
    reading.write(LONG, long)

    with reading.waiting_for_the_slow(slow):
        assert eventually(lambda: reading.held(LONG) > SHARE.records)
        reading.goes_on_reading(1)
    reading.fetch_the_rest(len(long))

    assert reading.values == [long, slow, numbers(1)]
    assert counted.resumes > 0


def test_at_the_head_nothing_is_paused(make_reading: Callable[..., Reading], counted: type[Counted]) -> None:
    reading = make_reading()
    reading.write(LONG, numbers(1_000))
    for end in range(1, 50):
        for partition in (SLOW, LIVELY):
            reading.write(partition, [b"%d" % (end - 1)])
        reading.fetch(end, end, end)

    assert reading.values == [numbers(49)] * 3
    assert reading.held(LONG) == 1_000 - 49
    assert (counted.pauses, counted.resumes) == (0, 0)
