"""Whose processes were seen to end: nobody has to wait for what they have claimed. Pure; liveness only."""

from collections.abc import Set


class Ended:
    """Follows what a failure detector says. Times are ms of any monotonic clock.

    A detector may be wrong: a connection can be closed, and refused from then on, although the process lives. Its
    claims and markers show that, except those that were on their way when it was seen to end, for `grace_ms` at most.
    """

    def __init__(self, grace_ms: float) -> None:
        self._grace_ms = grace_ms
        self._seen: Set[str] = frozenset()
        self._since: dict[str, float] = {}

    def __contains__(self, name: str) -> bool:
        """Whether `name` was seen to end, and has not shown since that it lives."""
        return name in self._since

    def see(self, names: Set[str], now_ms: float) -> None:
        """The processes of these have ended, and those of no others, as far as is seen now."""
        new = names - self._seen
        self._seen = names
        self._since = {name: at for name, at in self._since.items() if name in names} | dict.fromkeys(new, now_ms)

    def lives(self, name: str, now_ms: float) -> None:
        """Something that it wrote was read."""
        if now_ms - self._since.get(name, now_ms) > self._grace_ms:
            del self._since[name]
