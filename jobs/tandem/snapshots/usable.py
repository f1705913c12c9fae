"""Which of several snapshots can be restored, those that turn out damaged are passed over; and what savepoints keep from the
collector of garbage.
"""

from collections.abc import Callable, Iterable
from typing import Final

from tandem.logs import get_logger
from tandem.snapshots.errors import SnapshotCorruptError, SnapshotManifestError, SnapshotStoreError
from tandem.snapshots.garbage import older_than
from tandem.snapshots.remote import Remote
from tandem.snapshots.savepoints import DELETED, SAVEPOINTS, decode_savepoint, name_at
from tandem.snapshots.values import SnapshotManifest

_log = get_logger(__name__)


def named_by_savepoints(
    remote: Remote, grace_ms: int, now_ms: int, foreign: set[str]
) -> tuple[list[SnapshotManifest], list[str]]:
    """The snapshots of all savepoints, those deleted within the grace period included; and files of older ones, to remove.

    `foreign` : files among the savepoints that are none, of which a warning was given. Others are added.

    Raises `SnapshotManifestError` if a savepoint cannot be read: it was asked to stay, so nothing may be removed.
    """
    named = []
    for path in remote.files(SAVEPOINTS):
        if name_at(path) is None:
            _warn_of_foreign(path, foreign)
            continue
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


def _warn_of_foreign(path: str, foreign: set[str]) -> None:
    if path not in foreign:
        foreign.add(path)
        _log.warning(
            "foreign_file",
            file=path,
            reason="another program has put it among the savepoints; one is a file savepoints/NAME.json",
            effect="it is left alone. Should it be a copy of a savepoint, what it names is not kept for it",
            remedy="move it elsewhere",
        )


_UNREADABLE: Final = 3
_LISTINGS: Final = 3


def restore_first(
    snapshots: Callable[[], Iterable[SnapshotManifest]],
    restore: Callable[[SnapshotManifest], None],
    is_there: Callable[[SnapshotManifest], bool],
) -> SnapshotManifest | None:
    """Restore the first snapshot that can be; returns it, None if there is none.

    Snapshots that turn out damaged are logged and passed over, and so are a few that cannot be read. Where one is that only
    because it was collected meanwhile, newer ones are there by now, which are looked for.

    `snapshots` : those that there are now. `is_there`: whether one still is.

    Raises `SnapshotStoreError`: the store is away, or each is collected before it is restored.
    """
    for _ in range(_LISTINGS):
        damaged: list[SnapshotManifest] = []
        found = _first(snapshots(), restore, damaged)
        if found is not None or all(map(is_there, damaged)):
            return found
    raise SnapshotStoreError(
        f"each of {_LISTINGS} snapshots was removed while it was restored, as too old: that takes longer than they stay. "
        "Raise spec.snapshots.retainAge, or see why the store is slow"
    )


def _first(
    snapshots: Iterable[SnapshotManifest], restore: Callable[[SnapshotManifest], None], damaged: list[SnapshotManifest]
) -> SnapshotManifest | None:
    """See `restore_first`; adds to `damaged`."""
    unreadable: list[SnapshotStoreError] = []
    for manifest in snapshots:
        try:
            restore(manifest)
        except SnapshotCorruptError as error:
            _log.warning("snapshot_corrupt", snapshot=manifest.name, file=error.file, reason=error.reason)
            damaged.append(manifest)
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
