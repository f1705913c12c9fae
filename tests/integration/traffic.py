"""What goes into a job and what comes out: a feeder of numbered records, a reader, and what must hold between them."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise

from confluent_kafka import Consumer, Producer, TopicPartition

PARTITIONS = 2
CATCH_UP_DEADLINE_S = 120.0


@dataclass
class Feeder:
    """Sends numbered records, `rate` a second, round the partitions; the key is the partition's."""

    bootstrap: str
    topic: str
    rate: float
    sent: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        # A broker that is down for a while delays records, it never loses them.
        self._producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 300_000,
                "reconnect.backoff.max.ms": 500,
                "linger.ms": 5,
            }
        )
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        started = time.monotonic()
        while not self._stop.wait(0.01):
            due = int((time.monotonic() - started) * self.rate)
            for number in range(self.sent, due):
                partition = number % PARTITIONS
                self._producer.produce(self.topic, str(number), f"k{partition}", partition)
            self.sent = max(self.sent, due)
            self._producer.poll(0)

    def stop(self) -> int:
        """Stop, and wait until all is in Kafka; how many were sent."""
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(60) == 0, "the feeder could not deliver its records"
        return self.sent


class Reader:
    """Reads the committed output from its beginning on, and remembers when each record came."""

    def __init__(self, bootstrap: str, copies: str, counts: str) -> None:
        self.copies: list[int] = []
        self.counts: dict[str, list[int]] = defaultdict(list)
        self.times: list[float] = []
        self._copies_topic = copies
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 20,
                "reconnect.backoff.max.ms": 200,
            }
        )
        self._consumer.assign([TopicPartition(copies, 0, 0), TopicPartition(counts, 0, 0)])
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(0.05)
            if message is None or message.error():
                continue
            value = int(message.value() or b"0")
            if message.topic() == self._copies_topic:
                self.copies.append(value)
                self.times.append(time.monotonic())
            else:
                self.counts[(message.key() or b"").decode()].append(value)
        self._consumer.close()

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

    def flows_on(self, records: int, deadline_s: float = 60.0) -> None:
        """Wait for `records` more records of output."""
        seen = len(self.reader.copies)
        self.wait(lambda: len(self.reader.copies) >= seen + records, deadline_s, f"{records} more records of output")

    @contextmanager
    def output_goes_on(self, within_s: float) -> Iterator[None]:
        """While the block runs, no gap in the output is longer than `within_s`."""
        began = time.monotonic()
        yield
        gap = self.reader.longest_gap(began, time.monotonic())
        print(f"{self.name}: longest gap {gap * 1000:.0f} ms")
        assert gap <= within_s, f"the output had a gap of {gap:.1f} s\n{self.story()}"

    def check_exactly_once(self) -> None:
        """Everything sent until now comes out once, in order, and the counts are those of the records."""
        sent = self.feeder.sent
        self.wait(lambda: len(self.reader.copies) >= sent, CATCH_UP_DEADLINE_S, f"{sent} records, all that were sent")
        check_copies(list(self.reader.copies), sent)
        for key, counts in list(self.reader.counts.items()):
            assert counts == sorted(set(counts)), f"the counts of {key} repeat or go back: {counts[-20:]}"

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
