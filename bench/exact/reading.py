"""Reading back what Kafka holds of a run, with a read_committed consumer."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Self

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from bench.exact.checks import Arrival, History, Place, of_lane
from bench.workloads.base import Record, Row
from tandem.kafka.headers import headers_of, job_of, row_id
from tandem.protocol.codec import decode_marker, decode_proposal
from tandem.protocol.decisions import Decisions

_BATCH = 10_000
_DEADLINE_S = 120.0
_OWN = "tandem."


class Log:
    """Follows the two logs of a job, which have to be there: how its inputs were cut, and how far it has published."""

    def __init__(self, bootstrap: str, ordering: str, commits: str) -> None:
        self._consumer = _consumer(bootstrap, {ordering: 1, commits: 1})
        self._ordering = ordering
        self._decisions = Decisions()
        self.published = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def read(self) -> None:
        """Take in what is there. Raises `KafkaException`."""
        while messages := self._consumer.consume(_BATCH, 0.1):
            for message in messages:
                _check(message)
                if message.topic() == self._ordering:
                    self._decisions.apply(decode_proposal(message.value()), message.offset() or 0)
                else:
                    self.published = max(self.published, decode_marker(message.value()).epoch)

    def has_published(self, ends: Mapping[Place, int], topics: Mapping[str, str]) -> bool:
        """Whether every record before `ends` is in an epoch that is published."""
        if self.published < 0:
            return False
        reached = self._ends(self.published, topics)
        return all(reached.get(place, 0) >= end for place, end in ends.items())

    def ends(self, topics: Mapping[str, str]) -> list[dict[Place, int]]:
        """Where each published epoch ends. `topics`: topic → source."""
        return [self._ends(epoch, topics) for epoch in range(self.published + 1)]

    @property
    def taken_over(self) -> int:
        """How many published epochs were claimed more than once."""
        return sum(len(self._decisions.claims(epoch)) > 1 for epoch in range(self.published + 1))

    def _ends(self, epoch: int, topics: Mapping[str, str]) -> dict[Place, int]:
        found = self._decisions.epoch_range(epoch)
        if found is None:
            return {}
        return {(topics[place.topic], place.partition): end for place, end in found.ends.items()}


def histories(
    bootstrap: str,
    sources: Mapping[str, int],
    sink: tuple[str, int],
    topics: Mapping[str, str],
    logs: Mapping[str, Log],
) -> list[History]:
    """All that a run has left, lane by lane. `sources`: topic → partitions; `topics`: topic → source; `logs`: of each lane.

    Raises `KafkaException`; `TimeoutError` if it cannot be read.
    """
    inputs: dict[Place, list[Record]] = {}
    for message in _read(bootstrap, sources):
        source, partition = topics[str(message.topic())], message.partition() or 0
        record = Record(source, partition, message.key(), message.value() or b"", message.timestamp()[1])
        inputs.setdefault((source, partition), []).append(record)
    arrivals: dict[str | None, list[Arrival]] = {}
    for message in _read(bootstrap, dict([sink])):
        arrivals.setdefault(job_of(headers_of(message)), []).append(_arrival(message))
    strays = [arrival for job, some in arrivals.items() if job not in logs for arrival in some]
    found = []
    for lane, (job, log) in enumerate(logs.items()):
        log.read()
        mine = [*arrivals.get(job, ()), *(strays if lane == 0 else ())]
        found.append(History(of_lane(inputs, lane, len(logs)), log.ends(topics), mine, log.taken_over))
    return found


def _arrival(message: Message) -> Arrival:
    headers = headers_of(message)
    row = row_id(headers)
    own = tuple((name, value) for name, value in headers or () if not name.startswith(_OWN))
    epoch, index = (-1, -1) if row is None else (row.epoch, row.index)
    return Arrival(epoch, index, message.partition() or 0, Row(message.key(), message.value(), own))


def _read(bootstrap: str, topics: Mapping[str, int]) -> list[Message]:
    """All records of some topics that nobody writes to any more, those of a partition in their order."""
    consumer = _consumer(bootstrap, topics, tells_ends=True)
    try:
        found: list[Message] = []
        left = {(topic, number) for topic, count in topics.items() for number in range(count)}
        deadline = time.monotonic() + _DEADLINE_S
        while left:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{', '.join(topics)} could not be read within {_DEADLINE_S:.0f} s")
            for message in consumer.consume(_BATCH, 0.1):
                error = message.error()
                if error is not None and error.code() == KafkaError._PARTITION_EOF:
                    left.discard((str(message.topic()), message.partition() or 0))
                    continue
                _check(message)
                found.append(message)
        return found
    finally:
        consumer.close()


def _consumer(bootstrap: str, topics: Mapping[str, int], tells_ends: bool = False) -> Consumer:
    consumer = Consumer(
        {
            **{"bootstrap.servers": bootstrap, "group.id": "exact", "enable.auto.commit": False},
            **{"isolation.level": "read_committed", "auto.offset.reset": "error"},
            "enable.partition.eof": tells_ends,
        }
    )
    places = [TopicPartition(topic, number, 0) for topic, count in topics.items() for number in range(count)]
    consumer.assign(places)
    return consumer


def _check(message: Message) -> None:
    error = message.error()
    if error is not None:
        raise KafkaException(error)
