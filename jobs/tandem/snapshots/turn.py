"""Whose turn it is to take a snapshot. Only to save work: two snapshots at once do no harm."""

import json
from collections.abc import Callable

from tandem.snapshots.remote import Remote

_PATH = "taking.json"


class Turn:
    """A note in the store that says who is taking a snapshot; one that is not renewed for `lease_ms` is void.

    Raises `SnapshotStoreError` throughout. `now_ms` is wall clock.
    """

    def __init__(self, remote: Remote, me: str, lease_ms: int, now_ms: Callable[[], int]) -> None:
        self._remote = remote
        self._me = me
        self._lease_ms = lease_ms
        self._now_ms = now_ms
        self._renewed_ms = 0

    def take(self) -> bool:
        """Whether it is my turn now."""
        if self._holder() not in (None, self._me):
            return False
        self._write()
        return self._holder() == self._me  # of several who wrote at the same time, the last one

    def renew(self) -> None:
        """Called often while the work goes on."""
        if self._now_ms() - self._renewed_ms > self._lease_ms / 4:
            self._write()

    def give_back(self) -> None:
        """The work is done."""
        if self._holder() == self._me:
            self._remote.remove(_PATH)

    def _holder(self) -> str | None:
        try:
            note = json.loads(self._remote.read(_PATH))
            age = self._now_ms() - int(note["at"])
            # A note from far in the future is one of a clock that is wrong.
            return str(note["who"]) if abs(age) < self._lease_ms else None
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def _write(self) -> None:
        self._renewed_ms = self._now_ms()
        self._remote.put_bytes(json.dumps({"who": self._me, "at": self._renewed_ms}).encode(), _PATH)
