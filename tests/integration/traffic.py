"""What goes into a job and what comes out: a feeder of numbered records, a reader, and what must hold between them."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise, zip_longest

from confluent_kafka import Consumer, Producer, TopicPartition

from tandem.kafka.headers import headers_of, row_id
from tandem.kafka.workarounds import BrokerWatch

PARTITIONS = 2
CATCH_UP_DEADLINE_S = 240.0


Row = tuple[int, int]
"""An epoch, and a value that was published in it."""


def key_of(number: int) -> str:
    """The key that a record is sent with."""
    return f"k{number % PARTITIONS}"


class Feeder:
    """Sends numbered records, `rate` a second, round the partitions; the key is the partition's.

    Twenty times a second: each request of a feeder wakes all who read, and a broker of a test has half a core.

    It alone writes to the topic, from its beginning on, so the topic's ends say what has arrived: a client that has
    forgotten all brokers (`BrokerWatch`) is replaced, and the next one goes on from there.
    """

    def __init__(self, bootstrap: str, topic: str, rate: float) -> None:
        self.topic, self.rate, self.sent = topic, rate, 0
        self._bootstrap = bootstrap
        self._stop = threading.Event()
        self._connect()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _connect(self) -> None:
        # A broker that is down for a while delays records, it never loses them.
        self._watch = BrokerWatch()
        self._producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 300_000,
                "reconnect.backoff.max.ms": 500,
                "linger.ms": 5,
                **self._watch.settings,
            }
        )

    def _run(self) -> None:
        started = time.monotonic()
        while not self._stop.wait(0.05):
            due = int((time.monotonic() - started) * self.rate)
            for number in range(self.sent, due):
                self.send(number)
            self.sent = max(self.sent, due)
            self._producer.poll(0)
            if self._watch.forgot_all:
                self._replace()

    def send(self, number: int) -> None:
        """Send the record of a number."""
        self.produce(str(number), key_of(number), number % PARTITIONS)

    def produce(self, value: str, key: str, partition: int = -1) -> None:
        """Send a record; to the partition of its key, if none is named."""
        self._producer.produce(self.topic, value, key, partition)

    def _replace(self) -> None:
        """Another client sends what has not arrived."""
        self._producer.purge()
        self._producer.flush(1)
        self._connect()
        arrived = self._arrived()
        for number in range(self.sent):
            if number // PARTITIONS >= arrived[number % PARTITIONS]:
                self.send(number)

    def _arrived(self) -> list[int]:
        """How many records each partition has."""
        consumer = Consumer({"bootstrap.servers": self._bootstrap, "group.id": "feeder"})
        try:
            places = (TopicPartition(self.topic, partition) for partition in range(PARTITIONS))
            return [consumer.get_watermark_offsets(place, timeout=30, cached=False)[1] for place in places]
        finally:
            consumer.close()

    def stop(self) -> int:
        """Stop, and wait until all is in Kafka; how many were sent."""
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(60) == 0, "the feeder could not deliver its records"
        return self.sent


class Reader:
    """Reads the committed output from its beginning on, and remembers when each record came, and of which epoch it is."""

    def __init__(self, bootstrap: str, copies: str, counts: str) -> None:
        self.copies: list[int] = []
        self.counts: dict[str, list[int]] = defaultdict(list)
        self._copies_of: list[int] = []
        self._newest_copies: dict[int, int] = {}
        self._counts_of: dict[str, list[int]] = defaultdict(list)
        self.times: list[float] = []
        self._copies_topic = copies
        self._bootstrap = bootstrap
        self._next = {copies: 0, counts: 0}
        self._connect()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _connect(self) -> None:
        self._watch = BrokerWatch()
        self._consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 200,
                "reconnect.backoff.max.ms": 200,
                **self._watch.settings,
            }
        )
        self._consumer.assign([TopicPartition(topic, 0, offset) for topic, offset in self._next.items()])

    def _run(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(0.05)
            if message is None and self._watch.forgot_all:
                self._consumer.close()
                self._connect()
            if message is None or message.error():
                continue
            self._next[message.topic()] = message.offset() + 1
            value, row = int(message.value() or b"0"), row_id(headers_of(message))
            assert row is not None, f"a record of {message.topic()} does not say of which epoch it is"
            if message.topic() == self._copies_topic:
                self._copies_of.append(row.epoch)
                self.copies.append(value)
                self._newest_copies[value % PARTITIONS] = value
                self.times.append(time.monotonic())
            else:
                key = (message.key() or b"").decode()
                self._counts_of[key].append(row.epoch)
                self.counts[key].append(value)
        self._consumer.close()

    @property
    def newest(self) -> int:
        """The newest epoch that a copy came of."""
        return self._copies_of[-1]

    def has_copied(self, sent: int) -> bool:
        """Whether of each partition the last of the first `sent` records came, or a newer one: then none is to come."""
        last = range(max(0, sent - PARTITIONS), sent)
        return all(self._newest_copies.get(number % PARTITIONS, -1) >= number for number in last)

    def has_passed(self, epoch: int) -> bool:
        """Whether a copy and a count of later epochs came: then there is nothing more to come of `epoch`."""
        counted = max((epochs[-1] for epochs in list(self._counts_of.values()) if epochs), default=-1)
        return min(self.newest, counted) > epoch

    def rows_until(self, epoch: int) -> tuple[list[Row], dict[str, list[Row]]]:
        """The copies, and the counts of each key, of the epochs up to `epoch`."""

        def until(epochs: list[int], values: list[int]) -> list[Row]:
            return [row for row in zip(epochs, values, strict=False) if row[0] <= epoch]

        counts = {key: until(epochs, self.counts[key]) for key, epochs in list(self._counts_of.items())}
        return until(self._copies_of, self.copies), counts

    def stop(self) -> None:
        """Stop reading."""
        self._stop.set()
        self._thread.join()

    def longest_gap(self, start: float, end: float) -> float:
        """Longest time (s) without output between two times."""
        inside = [start, *(t for t in list(self.times) if start <= t <= end), end]
        return max(b - a for a, b in pairwise(inside))


class Fed(ABC):
    """A running job that is fed and read, wherever it runs."""

    def __init__(self, bootstrap: str, name: str, rate: float) -> None:
        self.name = name
        self.feeder = Feeder(bootstrap, f"{name}-in", rate)
        self.reader = Reader(bootstrap, f"{name}-copies", f"{name}-counts")

    @abstractmethod
    def wait(self, condition: Callable[[], bool], deadline_s: float, what: str) -> None:
        """Wait for a condition; fail with what was waited for, and what happened."""

    @abstractmethod
    def story(self) -> str:
        """What happened, for a failing test."""

    def flows_on(self, records: int, deadline_s: float = CATCH_UP_DEADLINE_S) -> None:
        """Wait for the output of the next `records` records that are sent: what was sent before may be a backlog still."""
        last = self.feeder.sent + records
        self.wait(lambda: self.reader.has_copied(last), deadline_s, f"the output of {records} more records")

    @contextmanager
    def output_goes_on(self, within_s: float) -> Iterator[None]:
        """While the block runs, no gap in the output is longer than `within_s`."""
        began = time.monotonic()
        yield
        gap = self.reader.longest_gap(began, time.monotonic())
        print(f"{self.name}: longest gap {gap * 1000:.0f} ms")
        assert gap <= within_s, f"the output had a gap of {gap:.1f} s\n{self.story()}"

    def check_exactly_once(self) -> None:
        """Everything sent until now comes out once, in order, and the counts are those of the records, epoch by epoch."""
        self.check_copied_once()
        newest = self.reader.newest
        self.wait(lambda: self.reader.has_passed(newest), CATCH_UP_DEADLINE_S, f"rows after those of epoch {newest}")
        check_counts(*self.reader.rows_until(newest))

    def check_copied_once(self) -> None:
        """Everything sent until now comes out once, in order; for a job that counts nothing."""
        sent = self.feeder.sent
        self.wait(lambda: self.reader.has_copied(sent), CATCH_UP_DEADLINE_S, f"{sent} records, all that were sent")
        check_copies(list(self.reader.copies), sent)

    def close(self) -> None:
        """Stop feeding and reading."""
        self.feeder.stop()
        self.reader.stop()


def check_copies(copies: list[int], sent: int) -> None:
    """`copies` holds 0 … sent − 1 (and perhaps newer ones): each once, those of one partition in order."""
    repeated = [number for number, times in Counter(copies).items() if times > 1]
    lost = sorted(set(range(sent)) - set(copies))
    assert not repeated, f"{len(repeated)} records are duplicated, the first: {repeated[:10]}"
    assert not lost, f"{len(lost)} records are lost, the first: {lost[:10]}"
    for partition in range(PARTITIONS):
        mine = [number for number in copies if number % PARTITIONS == partition]
        assert mine == sorted(mine), f"records of partition {partition} are reordered"


def check_counts(copies: Iterable[Row], counts: Mapping[str, list[Row]]) -> None:
    """Each epoch counts each of its keys once: how many records of that key there are up to this epoch."""
    expected: dict[str, dict[int, int]] = defaultdict(dict)
    total: Counter[str] = Counter()
    for epoch, number in copies:
        key = key_of(number)
        total[key] += 1
        expected[key][epoch] = total[key]
    assert set(counts) == set(expected), f"{sorted(counts)} are counted, and {sorted(expected)} were published"
    for key, rows in counts.items():
        differing = zip_longest(rows, expected[key].items())
        wrong = next(((found, right) for found, right in differing if found != right), None)
        assert wrong is None, f"{key} is counted (epoch, count) {wrong[0]}, and should be {wrong[1]}"
