"""What can be wrong with a snapshot or with the store that it is in."""

from __future__ import annotations


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
