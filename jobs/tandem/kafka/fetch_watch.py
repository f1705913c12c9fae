"""Whether a consumer gets on that hands out nothing: librdkafka skips the records of aborted transactions without a word.

Its position moves by such records only where their transaction ends, and a partition's `rxbytes` not at all (measured with
2.16). Where it fetches next, only its statistics say.
"""

import json
from collections.abc import Callable
from typing import Final

from tandem.protocol.values import TopicPartition

_INTERVAL_MS: Final = 1_000
SILENCE_S: Final = 5.0
"""Records that are there come at once; while none came for so long, another client is tried (see `BrokerWatch`), with such a
watch. It is given twice the time: an answer that a slow link or a quota holds back would never come whole."""
MOST_SILENCE_S: Final = 40.0


class FetchWatch:
    """Of a reader's consumers, one after the other. Who is watched is polled all the time, or its statistics pile up."""

    def __init__(self) -> None:
        self.is_on = False
        """Whether the consumer of now is watched: one that follows on a silent one."""
        self._places: dict[TopicPartition, int] = {}
        self._furthest: dict[TopicPartition, int] = {}
        self._got_on = False

    def begin(self, is_on: bool) -> None:
        """Another consumer is made."""
        self.is_on, self._places, self._got_on = is_on, {}, False

    @property
    def settings(self) -> dict[str, int | Callable[[str], None]]:
        """What the consumer is configured with, so that it gives its statistics."""
        return {"statistics.interval.ms": _INTERVAL_MS, "stats_cb": self.see} if self.is_on else {}

    def see(self, statistics: str) -> None:
        """Take in what the consumer says: JSON, as in librdkafka's STATISTICS.md."""
        for name, topic in json.loads(statistics).get("topics", {}).items():
            for number, partition in topic["partitions"].items():
                tp, place = TopicPartition(name, int(number)), partition["next_offset"]
                if place > self._places.get(tp, 0):
                    self._got_on = self._got_on or tp in self._places
                    self._places[tp] = place
                    self._furthest[tp] = max(self._furthest.get(tp, 0), place)

    def place(self, tp: TopicPartition) -> int:
        """Where the consumer of now fetches next in a partition; 0: it has not said."""
        return self._places.get(tp, 0)

    def furthest(self, tp: TopicPartition) -> int:
        """How far one of the consumers has come in a partition; 0: none has said."""
        return self._furthest.get(tp, 0)

    def got_on(self) -> bool:
        """Whether this consumer has got on in a partition since it was asked last."""
        found, self._got_on = self._got_on, False
        return found
