"""The last epoch that somebody took over from a silent owner, as every replica sees it in the logs."""

from __future__ import annotations

from tandem.protocol.values import Claim, Marker
from tandem.report import Failover


class Failovers:
    """Follows accepted cuts and claims, and markers. Times are ms: `now_ms` of a monotonic clock, `wall_ms` since 1970."""

    def __init__(self) -> None:
        self.last: Failover | None = None
        self.publisher = ""
        self._owners: dict[int, dict[int, str]] = {}  # epoch → attempt → owner
        self._cut_ms: dict[int, float] = {}
        self._marked_ms: float | None = None

    def ordered(self, epoch: int, now_ms: float) -> None:
        """An epoch's cut was accepted. Before, there was nothing to publish: a silence until then is no gap."""
        self._cut_ms[epoch] = now_ms

    def claimed(self, claim: Claim) -> None:
        """A claim was accepted."""
        self._owners.setdefault(claim.epoch, {})[claim.attempt] = claim.owner

    def published(self, marker: Marker, now_ms: float, wall_ms: int) -> None:
        """The next epoch's marker was read."""
        owners = self._owners.get(marker.epoch, {})
        before = owners.get(marker.attempt - 1)
        if before is not None and self._marked_ms is not None:
            gap_ms = round(now_ms - max(self._marked_ms, self._cut_ms.get(marker.epoch, self._marked_ms)))
            self.last = Failover(marker.epoch, before, marker.owner, gap_ms, wall_ms)
        self.publisher, self._marked_ms = marker.owner, now_ms
        self._owners = {epoch: known for epoch, known in self._owners.items() if epoch > marker.epoch}
        self._cut_ms = {epoch: cut_ms for epoch, cut_ms in self._cut_ms.items() if epoch > marker.epoch}
