"""The store's clock: by it, not by that of this machine, files of the store are old."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from tandem.logs import get_logger
from tandem.snapshots.errors import SnapshotStoreError
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


def _newest_ms(remote: Remote) -> int:
    """When the newest file was written: later than that it is by the store's clock."""
    listed = (remote.files(folder) for folder in ("manifests", "objects", INCOMING))
    return max((file.written_at_ms for files in listed for file in files.values()), default=0)


class StoreClock:
    """The store's clock, compared with that of this machine, `now_ms` (wall clock, ms since 1970).

    If they differ by more than a minute one of them is wrong, and nobody here knows which. Files are old by the store's.
    """

    def __init__(self, remote: Remote, now_ms: Callable[[], int]) -> None:
        self._remote = remote
        self._now_ms = now_ms
        self._differs = False

    def now(self) -> int:
        """The store's time; a warning says once that the clocks differ. Raises `SnapshotStoreError`.

        Of a store that is so full that it takes no file, it is the time of its newest: then too little is old, not too much.
        """
        before = self._now_ms()
        try:
            there = store_ms(self._remote)
        except SnapshotStoreError:
            return _newest_ms(self._remote)
        after = self._now_ms()
        differs = not before - MAY_DIFFER_MS <= there <= after + MAY_DIFFER_MS
        if differs and not self._differs:
            _log.warning(
                "clocks_differ",
                store=_time(there),
                this_machine=_time(after),
                effect="what is removed from the snapshot store is old by the store's clock, snapshots by this machine's",
                remedy="set the clock that is wrong, and keep both synchronised (NTP)",
            )
        self._differs = differs
        return there


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")
