"""Removing all that a job has in its snapshot store. For a job that is gone: nobody may read or write there any more."""

from tandem.snapshots.remote import INCOMING
from tandem.snapshots.savepoints import DELETED, SAVEPOINTS
from tandem.snapshots.store import SnapshotStore


def remove_all(store: SnapshotStore) -> int:
    """Remove every snapshot and savepoint; returns how many files there were. Raises `SnapshotStoreError`.

    What names objects goes before the objects, so that whatever stays of an attempt that fails can be found by nobody. Only
    the store's own folders go: somebody may have put something beside them.
    """
    folders = (SAVEPOINTS, "manifests", DELETED, "objects", INCOMING)
    count = sum(len(store.remote.files(folder)) for folder in folders)
    for folder in folders:
        store.remote.remove_folder(folder)
    return count
