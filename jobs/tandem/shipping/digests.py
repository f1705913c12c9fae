"""What markers say of published epochs, for proofs: as many as may still be asked for."""

from __future__ import annotations

from typing import Final

_KEPT: Final = 1_000
_MOST: Final = 100_000


class Digests:
    """Of recent epochs, in the order of their markers. Not thread-safe."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}
        self.held_from: int | None = None
        """While a proof lasts, the epoch of the state that it has a copy of. The state itself goes on meanwhile."""

    def __contains__(self, epoch: int) -> bool:
        return epoch in self._known

    def get(self, epoch: int) -> str | None:
        """What the marker of an epoch says, if that is known."""
        return self._known.get(epoch)

    def put(self, epoch: int, digest: str, state: int) -> None:
        """A marker was read. A proof compares the epochs after `state`, however many there are since that barrier."""
        self._known[epoch] = digest
        held = self.held_from
        needed = state if held is None else min(state, held)
        while len(self._known) > _KEPT:
            oldest = next(iter(self._known))
            if oldest > needed and len(self._known) <= _MOST:
                return
            del self._known[oldest]
