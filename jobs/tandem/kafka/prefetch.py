"""How much of each input partition a consumer fetches ahead, and pausing those that are read too far ahead of others.

Partitions share the memory, however many there are. Pausing bounds the memory of partitions that wait for the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from tandem.protocol.values import TopicPartition

_ALL_KIB: Final = 65_536
_ALL_RECORDS: Final = 80_000
_MOST_KIB: Final = 16_384
_MOST_RECORDS: Final = 20_000
_LEAST_KIB: Final = 64
_LEAST_RECORDS: Final = 500
"""One partition has at most, and at least, so much; all together the rest."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one partition may have waiting in librdkafka, and once more with who consumes. A single record may be larger.

    >>> Share.of(1), Share.of(64)
    (Share(kib=16384, records=20000), Share(kib=1024, records=1250))
    """

    kib: int
    records: int

    @classmethod
    def of(cls, partitions: int, all_kib: int = _ALL_KIB, most_records: int = _MOST_RECORDS) -> Share:
        """Of one of so many partitions; `all_kib`: of all of them together."""
        count = max(1, partitions)
        return cls(
            min(_MOST_KIB, max(_LEAST_KIB, all_kib // count)),
            min(most_records, max(_LEAST_RECORDS, _ALL_RECORDS // count)),
        )

    @property
    def bytes(self) -> int:
        """`kib` in bytes."""
        return self.kib * 1_024

    @property
    def queue(self) -> dict[str, str | int | bool]:
        """Settings of a consumer: it asks for no more of a partition of which so much waits."""
        return {"queued.max.messages.kbytes": self.kib, "queued.min.messages": self.records}

    @property
    def settings(self) -> dict[str, str | int | bool]:
        """A setting that the user may choose: how much of a partition an answer of a broker has at most, bytes."""
        return {"fetch.message.max.bytes": min(1_048_576, self.bytes)}


@dataclass(frozen=True, slots=True)
class Changes:
    """Partitions to pause and to resume now."""

    pause: tuple[TopicPartition, ...] = ()
    resume: tuple[TopicPartition, ...] = ()

    def carry_out(self, consumer: Consumer) -> None:
        """librdkafka drops what it holds of a paused partition; a resumed one goes on behind what it handed out last."""
        if self.pause:
            consumer.pause([KafkaTopicPartition(*tp) for tp in self.pause])
        if self.resume:
            consumer.resume([KafkaTopicPartition(*tp) for tp in self.resume])


class Pausing:
    """Partitions that are more than `most` ahead are paused, until they are no more than half as far."""

    def __init__(self, most: float) -> None:
        self._most = most
        self._paused: set[TopicPartition] = set()

    def changes(self, ahead: Mapping[TopicPartition, float]) -> Changes:
        """What to pause and to resume; they count as paused and resumed from now on.

        `ahead` : partition → how far; who is not in it is not ahead.
        """
        pause = tuple(tp for tp, far in ahead.items() if far > self._most and tp not in self._paused)
        resume = tuple(tp for tp in sorted(self._paused) if ahead.get(tp, 0) <= self._most / 2)
        self._paused = (self._paused | {*pause}) - {*resume}
        return Changes(pause, resume)
