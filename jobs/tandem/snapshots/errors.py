"""What can be wrong with a snapshot or with the store that it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tandem.snapshots.values import SnapshotManifest


class SnapshotError(Exception):
    """Anything that keeps a snapshot from being taken or restored."""


class SnapshotStoreError(SnapshotError):
    """The store cannot be reached, is full, or refuses: another try later may succeed."""


class SnapshotCancelledError(SnapshotError):
    """Saving was given up because the process stops."""


class IncompleteCheckpointError(SnapshotError):
    """A checkpoint folder does not hold all that an epoch needs, or its owner cleans it up meanwhile."""


class SnapshotManifestError(SnapshotError):
    """A manifest that is torn, was altered, or is none."""


class UnknownManifestVersionError(SnapshotManifestError):
    """A manifest of another version of Tandem: what it names is not known here."""


class SnapshotCorruptError(SnapshotError):
    """A file of a snapshot is missing from the store or is not what was saved; `file` is its path in the checkpoint."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file}: {reason}")
        self.file = file
        self.reason = reason


class NoSnapshotError(SnapshotError):
    """No snapshot is there that is recent enough; `newest` is the newest one, if there is any."""

    def __init__(self, reason: str, newest: SnapshotManifest | None = None) -> None:
        super().__init__(reason)
        self.newest = newest


class SavepointNameError(SnapshotError):
    """A savepoint cannot be called that."""


class SavepointExistsError(SnapshotError):
    """The name is taken."""


class UnknownSavepointError(SnapshotError):
    """There is no savepoint of that name."""
