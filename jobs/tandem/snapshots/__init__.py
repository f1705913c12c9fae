"""Asynchronous, incremental, content-addressed copies of a query's checkpoint, in any store that fsspec reaches."""

from tandem.snapshots.errors import (
    SnapshotCancelledError,
    SnapshotCorruptError,
    SnapshotError,
    SnapshotManifestError,
    SnapshotStoreError,
)
from tandem.snapshots.garbage import Collected, Retention
from tandem.snapshots.snapshotter import SnapshotIdentity, Snapshotter, SnapshotterSettings
from tandem.snapshots.store import SnapshotStore
from tandem.snapshots.values import SnapshotFile, SnapshotHead, SnapshotManifest, rocksdb_state_format

__all__ = [
    "Collected",
    "Retention",
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
    "rocksdb_state_format",
]
