"""What was counted of one partition: where its records stand, and what each weighs."""

from collections import deque
from dataclasses import dataclass, field
from itertools import islice, takewhile

from confluent_kafka import Message

from tandem.kafka.headers import content_bytes
from tandem.protocol.cutting import Sizes

RECORD_BYTES = 256
"""What a record costs beside its key, value and headers: the other columns of its row."""


@dataclass(slots=True)
class Counted:
    """Of one partition: the records from `start` to `to` that were read, and what each weighs."""

    start: int
    to: int
    offsets: deque[int] = field(default_factory=deque)
    weights: deque[int] = field(default_factory=deque)
    total: int = 0

    def forget_before(self, offset: int) -> None:
        while self.offsets and self.offsets[0] < offset:
            self.offsets.popleft()
            self.total -= self.weights.popleft()
        self.start = max(self.start, offset)
        self.to = max(self.to, self.start)

    def take(self, offset: int, weight: int) -> None:
        if offset < self.to:
            return
        self.offsets.append(offset)
        self.weights.append(weight)
        self.total += weight
        self.to = offset + 1


def weight(message: Message) -> int:
    """What a record counts: the bytes of its key, value and headers, `RECORD_BYTES`, and `HEADER_BYTES` for each header."""
    return RECORD_BYTES + content_bytes(message)


def sizes_before(one: Counted, end: int) -> Sizes:
    """The records before `end`, and where the counting has come to."""
    if one.to <= end:
        return Sizes(tuple(one.offsets), tuple(one.weights), one.to)
    # An epoch is short, and what is counted behind it may not be.
    offsets = tuple(takewhile(lambda offset: offset < end, one.offsets))
    return Sizes(offsets, tuple(islice(one.weights, len(offsets))), end)
