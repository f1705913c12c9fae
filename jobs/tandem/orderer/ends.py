"""Where the inputs end, without asking the brokers for each cut: who counts the records has read most of them already."""

from collections.abc import Callable, Mapping
from typing import Final

from tandem.protocol.values import Offsets, TopicPartition

ASKED_EVERY_MS: Final = 50.0
"""A question costs an orderer as much as the rest of a cut, and the brokers as well. A cut relies on an answer that is at
most so old, so none is made of some inputs for long while the brokers of others are away."""


class KnownEnds:
    """What the brokers said last, and what was read behind it since.

    `ask` : asks the brokers; None: they do not answer.
    `read_to` : how far each partition is read, of those that are followed now.
    """

    def __init__(self, ask: Callable[[], Offsets | None], read_to: Callable[[], Mapping[TopicPartition, int]]) -> None:
        self._ask, self._read_to = ask, read_to
        self._said = Offsets()
        self._until_ms = -float("inf")

    def now(self, last: Offsets, now_ms: float) -> Offsets | None:
        """The ends now, of records that can be read, never before `last`; None while the brokers do not answer.

        Raises what `ask` and `read_to` raise.
        """
        read = self._read_to()
        if now_ms < self._until_ms and read.keys() >= self._said.keys():
            return Offsets({tp: max(end, read[tp], last.get(tp, 0)) for tp, end in self._said.items()})
        said = self._ask()
        self._said, self._until_ms = said or Offsets(), -float("inf")
        # An input that ends before what was read has lost records: nobody could fetch a cut of what was counted of them.
        if said and all(said.get(tp, end) >= end for tp, end in read.items()):
            self._until_ms = now_ms + ASKED_EVERY_MS
        return said
