"""Asynchronous, incremental, content-addressed copies of a query's checkpoint, in any store that fsspec reaches."""

from tandem.snapshots.errors import (
    NoSnapshotError,
    SavepointExistsError,
    SavepointNameError,
    SnapshotCancelledError,
    SnapshotCorruptError,
    SnapshotError,
    SnapshotManifestError,
    SnapshotStoreError,
    UnknownSavepointError,
)
from tandem.snapshots.garbage import Collected, Retention
from tandem.snapshots.pace import SnapshotterSettings
from tandem.snapshots.removal import remove_all
from tandem.snapshots.savepoint_store import (
    DamagedSavepoint,
    Listing,
    Savepoints,
    newest_snapshot,
    not_before_epoch,
    not_before_ms,
)
from tandem.snapshots.savepoints import Inputs, Savepoint, SourceLayout, TopicLayout, differences, layout, misfits
from tandem.snapshots.savepoints import path_of as savepoint_path
from tandem.snapshots.snapshotter import SnapshotIdentity, Snapshotter
from tandem.snapshots.store import SnapshotStore
from tandem.snapshots.tables import StoredTables
from tandem.snapshots.values import SnapshotFile, SnapshotHead, SnapshotManifest, batch_unless, rocksdb_state_format

__all__ = [
    "Collected",
    "DamagedSavepoint",
    "Inputs",
    "Listing",
    "NoSnapshotError",
    "Retention",
    "Savepoint",
    "SavepointExistsError",
    "SavepointNameError",
    "Savepoints",
    "SnapshotCancelledError",
    "SnapshotCorruptError",
    "SnapshotError",
    "SnapshotFile",
    "SnapshotHead",
    "SnapshotIdentity",
    "SnapshotManifest",
    "SnapshotManifestError",
    "SnapshotStore",
    "SnapshotStoreError",
    "Snapshotter",
    "SnapshotterSettings",
    "SourceLayout",
    "StoredTables",
    "TopicLayout",
    "UnknownSavepointError",
    "batch_unless",
    "differences",
    "layout",
    "misfits",
    "newest_snapshot",
    "not_before_epoch",
    "not_before_ms",
    "remove_all",
    "rocksdb_state_format",
    "savepoint_path",
]
