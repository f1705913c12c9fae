"""Pausing partitions that are read too far ahead of others: what bounds the memory of whoever waits for those."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as KafkaTopicPartition

from tandem.protocol.values import TopicPartition


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
