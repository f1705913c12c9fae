"""The last epoch that somebody took over from a silent owner, as every replica sees it in the logs."""

from __future__ import annotations

from tandem.protocol.values import Claim, Marker
from tandem.report import Failover


class Failovers:
    """Follows accepted claims and markers. Times are ms: `now_ms` of a monotonic clock, `wall_ms` since 1970."""

    def __init__(self) -> None:
        self.last: Failover | None = None
        self.publisher = ""
        self._owners: dict[int, dict[int, str]] = {}  # epoch → attempt → owner
        self._marked_ms: float | None = None

    def claimed(self, claim: Claim) -> None:
        """A claim was accepted."""
        self._owners.setdefault(claim.epoch, {})[claim.attempt] = claim.owner

    def published(self, marker: Marker, now_ms: float, wall_ms: int) -> None:
        """The next epoch's marker was read."""
        owners = self._owners.get(marker.epoch, {})
        before = owners.get(marker.attempt - 1)
        if before is not None and self._marked_ms is not None:
            gap_ms = round(now_ms - self._marked_ms)
            self.last = Failover(marker.epoch, before, marker.owner, gap_ms, wall_ms)
        self.publisher, self._marked_ms = marker.owner, now_ms
        self._owners = {epoch: known for epoch, known in self._owners.items() if epoch > marker.epoch}
