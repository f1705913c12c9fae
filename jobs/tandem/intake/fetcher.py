"""Fetches epoch after epoch: the next accepted cut, with the records of all its inputs."""

from collections.abc import Mapping
from math import inf

from tandem.checkpoint.position import EnginePosition
from tandem.intake.fetch import Cuts, Fetched, InputReader
from tandem.kafka.batches import OnThrottled, no_matter
from tandem.kafka.client import KafkaConnection
from tandem.protocol.values import EpochRange, Offsets


class EpochFetcher:
    """Fetches epoch after epoch.

    `isolation` : input topic → isolation level.
    `cuts` : stands at the position to go on from.
    `on_throttled` : called when a broker holds a consumer back.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        isolation: Mapping[str, str],
        cuts: Cuts,
        on_throttled: OnThrottled = no_matter,
    ) -> None:
        self.cuts = cuts
        """Gives the epochs, and the answers to the questions about the one fetched last."""
        self._isolation = dict(isolation)
        self._readers = {
            level: InputReader(connection, level, on_throttled) for level in sorted(set(isolation.values()))
        }

    @property
    def position(self) -> EnginePosition:
        """Behind the epoch fetched last."""
        return self.cuts.position

    def next_cut(self, timeout_s: float) -> EpochRange | None:
        """The epoch to fetch next; None if it is not cut within `timeout_s`."""
        found = self.cuts.next(timeout_s)
        for reader in self._readers.values() if found is None else ():
            reader.rest()
        return found

    def fetch(self, epoch: EpochRange, timeout_s: float = inf) -> Fetched:
        """The records of the epoch that `next_cut` gave. `timeout_s`: as for `InputReader.fetch`.

        Raises `LostInputError`, `ReadTimeoutError`.
        """
        records = [
            pair
            for level, reader in self._readers.items()
            for pair in reader.fetch(self._of(level, epoch.starts), self._of(level, epoch.ends), timeout_s)
        ]
        self.cuts.taken(epoch)
        return Fetched(epoch, tuple(sorted(records, key=lambda pair: pair[0])))

    def close(self) -> None:
        """Close all consumers."""
        self.cuts.close()
        for reader in self._readers.values():
            reader.close()

    def _of(self, level: str, positions: Offsets) -> Offsets:
        return Offsets((tp, offset) for tp, offset in positions.items() if self._isolation[tp.topic] == level)
