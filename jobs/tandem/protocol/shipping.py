"""Whose turn it is to ship the state's changes. Pure; only to save work: two at once send everything twice, and no more."""

from tandem.protocol.timeouts import AdaptiveTimeout

_MOST_WAITED_FOR = 1_000


class ShippingTurn:
    """Watches markers and shipped epochs. Times are ms of any monotonic clock.

    The first to ship the newest shipped epoch continues. Another one takes over when a published epoch stays
    unshipped for longer than the adaptive bound; then its own deltas are the first, and the others see that.

    With barriers, the epochs that count are this replica's own barriers. Those of the shipper may be others, up to an
    interval later: what it ships then has ours in it.
    """

    def __init__(self, me: str, bound: AdaptiveTimeout) -> None:
        self._me = me
        self._bound = bound
        self._shipper: str | None = None
        self._shipped = -1
        self._waiting: dict[int, float] = {}

    @property
    def shipped(self) -> int:
        """The newest epoch that was shipped by the one that; −1: none that is known of."""
        return self._shipped

    def published(self, epoch: int, now_ms: float) -> None:
        """The marker of `epoch` was read."""
        if epoch > self._shipped and len(self._waiting) < _MOST_WAITED_FOR:
            self._waiting.setdefault(epoch, now_ms)

    def delta(self, epoch: int, shipper: str, now_ms: float) -> None:
        """A delta was read from the topic; only the first one of an epoch counts."""
        if epoch <= self._shipped:
            return
        covered = [other for other in self._waiting if other <= epoch]
        published_at = self._waiting.get(epoch, self._waiting[min(covered)] if covered else None)
        if published_at is not None and shipper != self._me:
            self._bound.observe(max(0.0, now_ms - published_at))
        self._shipper, self._shipped = shipper, epoch
        self._waiting = {other: at for other, at in self._waiting.items() if other > epoch}

    def is_mine(self, now_ms: float) -> bool:
        """Whether to ship now."""
        if self._shipper == self._me:
            return True
        return any(now_ms - at > self._bound.ms for at in self._waiting.values())
