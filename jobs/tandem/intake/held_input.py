"""What a reader of input topics holds of one partition: the records of the epoch that is fetched, and later ones."""

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import Message

from tandem.kafka.headers import content_bytes
from tandem.kafka.prefetch import Share
from tandem.protocol.values import Offsets, TopicPartition

_MOST_NAMED: Final = 5


@dataclass(slots=True)
class HeldInput:
    """One input partition: how far the fetching has come (control records included), and what it brought.

    The records of the epoch that ends at `end` are in `wanted`, later ones in `ahead`, each with its bytes; `ahead_bytes`:
    of all these.
    """

    fetched_to: int
    end: int = 0
    wanted: list[Message] = field(default_factory=list)
    ahead: deque[tuple[Message, int]] = field(default_factory=deque)
    ahead_bytes: int = 0

    def fullness(self, share: Share) -> float:
        """Of `ahead`; above 1 there is more of it than need be."""
        return max(len(self.ahead) / share.records, self.ahead_bytes / share.bytes)

    def want(self, end: int) -> None:
        """The next epoch ends at `end`."""
        self.end = end
        while self.ahead and (self.ahead[0][0].offset() or 0) < end:
            message, count = self.ahead.popleft()
            self.ahead_bytes -= count
            self.wanted.append(message)

    def take(self, message: Message) -> None:
        """A record came; one that came before is dropped."""
        offset = message.offset() or 0
        if offset < self.fetched_to:
            return
        self.fetched_to = offset + 1
        if offset < self.end:
            self.wanted.append(message)
        else:
            count = content_bytes(message)
            self.ahead.append((message, count))
            self.ahead_bytes += count

    def hand_out(self) -> list[Message]:
        """The records of the epoch, once."""
        wanted, self.wanted = self.wanted, []
        return wanted


def unread_in_words(waiting: Collection[TopicPartition], ends: Offsets, what: str) -> str:
    """Which partitions are waited for, and what to look at. `what`: what is the matter with their records."""
    where = ", ".join(f"{tp.topic}/{tp.partition} (to {ends[tp]})" for tp in sorted(waiting)[:_MOST_NAMED])
    more = f" and {len(waiting) - _MOST_NAMED:,} more partitions" if len(waiting) > _MOST_NAMED else ""
    return (
        f"{what} of input {where}{more}. See whether the brokers that lead these partitions answer; whether a producer left "
        "a transaction open; and whether a quota holds the job's user back (consumer_byte_rate or request_percentage: "
        "kafka-configs.sh --entity-type users)"
    )
