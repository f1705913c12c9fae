"""The last time that somebody took over the publication, as every replica that computes sees it in the logs."""

from dataclasses import dataclass

from tandem.protocol.switchover import replica_name
from tandem.protocol.values import Claim, Marker


@dataclass(frozen=True, slots=True)
class Failover:
    """An epoch from which on another replica published. `at_ms`: when, Unix, ms.

    `gap_ms` : from the marker before, or from its own cut if that came later, to its own marker.
    """

    epoch: int
    from_: str
    to: str
    gap_ms: int
    at_ms: int


class Failovers:
    """Follows accepted cuts and claims, and markers. Times are those of the logs' records: Unix, ms.

    Epochs that are taken over one after the other, by one owner from another, are one failover: that of the first.

    `alone` : one replica is active at a time. Then every change of publisher is a failover, or a planned switchover. Of
    several each may publish: only who publishes an epoch that another one had claimed has taken over.
    `publisher` : who published last before what is read from now on; "": nobody.
    """

    def __init__(self, alone: bool = False, publisher: str = "") -> None:
        self.last: Failover | None = None
        self.publisher = publisher
        self._alone = alone
        self._owners: dict[int, dict[int, str]] = {}  # epoch → attempt → owner
        self._cut_ms: dict[int, int] = {}
        self._marked_ms: int | None = None
        self._published: int | None = None  # the epoch of the last marker
        self._last_taken: tuple[int, str, str] | None = None  # the last marker's epoch, from whom it was taken, by whom

    def ordered(self, epoch: int, at_ms: int) -> None:
        """An epoch's cut was accepted. Before, there was nothing to publish: a silence until then is no gap."""
        self._cut_ms[epoch] = at_ms

    def claimed(self, claim: Claim) -> None:
        """A claim was accepted."""
        if self._published is not None and claim.epoch <= self._published:
            return
        self._owners.setdefault(claim.epoch, {})[claim.attempt] = claim.owner

    def published(self, marker: Marker, at_ms: int) -> None:
        """The next epoch's marker was read."""
        before = self._relieved(marker)
        known = [at for at in (self._marked_ms, self._cut_ms.get(marker.epoch)) if at is not None]
        goes_on = (marker.epoch - 1, before, marker.owner) == self._last_taken
        if before and known and not goes_on:
            # The clocks of the writers of these records need not agree to the millisecond.
            self.last = Failover(marker.epoch, before, marker.owner, max(0, at_ms - max(known)), at_ms)
        self._last_taken = (marker.epoch, before, marker.owner) if before else None
        self.publisher, self._marked_ms = marker.owner, at_ms
        # Markers are contiguous. A replica that catches up knows of very many epochs, and forgets one after the other.
        oldest = min([marker.epoch, *self._owners, *self._cut_ms]) if self._published is None else self._published + 1
        for epoch in range(oldest, marker.epoch + 1):
            self._owners.pop(epoch, None)
            self._cut_ms.pop(epoch, None)
        self._published = marker.epoch

    def _relieved(self, marker: Marker) -> str:
        """From whom its owner took over; "": from nobody."""
        before = self._owners.get(marker.epoch, {}).get(marker.attempt - 1, "")
        if not before and self._alone and self.publisher:
            is_another = replica_name(self.publisher) != replica_name(marker.owner)
            before = self.publisher if is_another else ""
        return before
