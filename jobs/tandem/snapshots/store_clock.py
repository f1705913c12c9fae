"""The store's clock: by it, not by that of this machine, files of the store are old."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from tandem.logs import get_logger
from tandem.snapshots.remote import INCOMING, Remote

_log = get_logger(__name__)

MAY_DIFFER_MS: Final = 60_000


def store_ms(remote: Remote) -> int:
    """What time it is by the store's clock (ms since 1970): when a file was written that is written now.

    The file is empty, so that a full store takes it. Raises `SnapshotStoreError`.
    """
    path = f"{INCOMING}/clock-{uuid.uuid4().hex}"
    remote.put_bytes(b"", path)
    try:
        return remote.written_at_ms(path)
    finally:
        remote.remove(path)


class StoreClock:
    """Compares the store's clock with that of this machine, `now_ms` (wall clock, ms since 1970).

    If they differ by more than a minute one of them is wrong, and nobody here knows which: then by no time is anything old.
    """

    def __init__(self, remote: Remote, now_ms: Callable[[], int]) -> None:
        self._remote = remote
        self._now_ms = now_ms
        self._differs = False

    def now(self) -> int | None:
        """The store's time, None if the clocks differ: a warning says so once. Raises `SnapshotStoreError`."""
        before = self._now_ms()
        there = store_ms(self._remote)
        after = self._now_ms()
        differs = not before - MAY_DIFFER_MS <= there <= after + MAY_DIFFER_MS
        if differs and not self._differs:
            _log.warning(
                "clocks_differ",
                store=_time(there),
                this_machine=_time(after),
                effect="this replica removes no old snapshots, and nothing else, from the snapshot store",
                remedy="set the clock that is wrong, and keep both synchronised (NTP)",
            )
        self._differs = differs
        return None if differs else there


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")
