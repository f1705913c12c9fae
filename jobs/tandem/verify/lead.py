"""How far one partition may be read ahead of another: what bounds the memory of a verification."""

from __future__ import annotations

from collections.abc import Iterable

from tandem.kafka.prefetch import Changes, Pausing
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
