"""How long something has been so without a break."""

from __future__ import annotations


class Lasting:
    """Asked now and then whether something is so; times are ms of any monotonic clock."""

    def __init__(self) -> None:
        self._since: float | None = None

    def ms(self, is_so: bool, now_ms: float) -> float:
        """For how long; 0 when it begins, and while it is not so."""
        if not is_so:
            self._since = None
        elif self._since is None:
            self._since = now_ms
        return 0.0 if self._since is None else now_ms - self._since
