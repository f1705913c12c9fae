"""Which of several snapshots can be restored: those that turn out damaged are passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from tandem.logs import get_logger
from tandem.snapshots.errors import SnapshotCorruptError, SnapshotStoreError
from tandem.snapshots.values import SnapshotManifest

_log = get_logger(__name__)

_UNREADABLE: Final = 3


def restore_first(
    snapshots: Iterable[SnapshotManifest], restore: Callable[[SnapshotManifest], None]
) -> SnapshotManifest | None:
    """Restore the first snapshot that can be; returns it, None if there is none.

    Snapshots that turn out damaged are logged and passed over, and so are a few that cannot be read. Raises
    `SnapshotStoreError` if the store is away.
    """
    unreadable: list[SnapshotStoreError] = []
    for manifest in snapshots:
        try:
            restore(manifest)
        except SnapshotCorruptError as error:
            _log.warning("snapshot_corrupt", snapshot=manifest.name, file=error.file, reason=error.reason)
            continue
        except SnapshotStoreError as error:
            _log.warning("snapshot_unreadable", snapshot=manifest.name, reason=str(error))
            unreadable.append(error)
            if len(unreadable) == _UNREADABLE:
                break
            continue
        _log.info("snapshot_restored", snapshot=manifest.name, epoch=manifest.epoch, bytes=manifest.size)
        return manifest
    if unreadable:
        raise unreadable[0]
    return None
