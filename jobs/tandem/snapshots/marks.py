"""The marks beside manifests that are retired: from then on no reader finds those any more."""

from collections.abc import Iterable
from typing import Final

from tandem.snapshots.errors import SnapshotStoreError
from tandem.snapshots.remote import Remote
from tandem.snapshots.values import SnapshotManifest

RETIRED: Final = ".retired"
"""Ends the path of a mark; before it stands the manifest's."""


def retire(remote: Remote, leaving: Iterable[SnapshotManifest]) -> SnapshotStoreError | None:
    """Mark those snapshots, as far as the store takes marks; why it takes no more."""
    try:
        for manifest in leaving:
            remote.put_bytes(b"", f"manifests/{manifest.name}{RETIRED}")
    except SnapshotStoreError as error:
        return error
    return None
