"""Which of several snapshots can be restored, those that turn out damaged are passed over; and what savepoints keep from the
collector of garbage.
"""

from collections.abc import Callable, Iterable
from typing import Final

from tandem.logs import get_logger
from tandem.snapshots.errors import SnapshotCorruptError, SnapshotManifestError, SnapshotStoreError
from tandem.snapshots.garbage import older_than
from tandem.snapshots.remote import Remote
from tandem.snapshots.savepoints import DELETED, SAVEPOINTS, decode_savepoint
from tandem.snapshots.values import SnapshotManifest

_log = get_logger(__name__)


def named_by_savepoints(remote: Remote, grace_ms: int, now_ms: int) -> tuple[list[SnapshotManifest], list[str]]:
    """The snapshots of all savepoints, those deleted within the grace period included; and files of older ones, to remove.

    Raises `SnapshotManifestError` if a savepoint cannot be read: it was asked to stay, so nothing may be removed.
    """
    named = []
    for path in remote.files(SAVEPOINTS):
        try:
            named.append(decode_savepoint(remote.read(path)).snapshot)
        except FileNotFoundError:
            continue  # deleted just now: it is among the deleted ones, which are looked for after it
        except SnapshotManifestError as error:
            remedy = "if it cannot be fixed, delete it: tandem savepoint delete"
            raise SnapshotManifestError(f"{path}: {error}; {remedy}") from error
    deleted = remote.files(DELETED)
    expired = older_than(deleted, grace_ms, now_ms)
    for path in sorted(deleted.keys() - set(expired)):
        try:
            named.append(decode_savepoint(remote.read(path)).snapshot)
        except FileNotFoundError:
            continue  # another collector was here
        except SnapshotManifestError as error:
            _log.warning("deleted_savepoint_invalid", savepoint=path, reason=str(error))
    return named, expired


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
