"""Where a replica's state comes from: checkpoints of this machine's replicas first, then the snapshot store."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyspark

from tandem.engine.checkpoint import find_newest, restore
from tandem.engine.interface import EnginePosition
from tandem.logs import get_logger
from tandem.manifest import Manifest
from tandem.snapshots import (
    Retention,
    SnapshotIdentity,
    SnapshotStore,
    SnapshotStoreError,
    Snapshotter,
    SnapshotterSettings,
    rocksdb_state_format,
)

_log = get_logger(__name__)

_FAR_EPOCHS = 100
"""State on this machine that is no farther behind is used without asking the store: that is quicker."""


class States:
    """The states that an incarnation may start from, and the snapshots that it takes of its own.

    Parameters
    ----------
    config_digest : the job's identity; state of another one is never restored.
    checkpoint : this incarnation's checkpoint folder.
    """

    def __init__(self, manifest: Manifest, incarnation: str, config_digest: str, checkpoint: Path) -> None:
        self._manifest = manifest
        self._incarnation = incarnation
        self._config_digest = config_digest
        self._checkpoint = checkpoint
        spec = manifest.spec.snapshots
        self._store: SnapshotStore | None = None
        if spec is not None:
            options = spec.options(os.environ, manifest.base)
            self._store = SnapshotStore(spec.url(manifest.name, manifest.base), options)

    def restore(self, folders: Sequence[Path], last_published: int) -> EnginePosition:
        """Restore the newest state that is not after `last_published`; returns where it stands.

        `folders` : checkpoints of other incarnations on this machine.
        """
        local = find_newest(folders, last_published)
        stands_at = -1 if local is None else local.position.epoch
        if self._store is not None and (local is None or last_published - stands_at > _FAR_EPOCHS):
            try:
                position = self._store.newest_usable(
                    last_published, self._config_digest, self._checkpoint, newer_than=stands_at
                )
            except SnapshotStoreError as error:
                _log.warning("snapshot_store_away", reason=str(error), effect="epochs are computed again instead")
                position = None
            if position is not None:
                return position
        return restore(folders, last_published, self._checkpoint)

    def snapshotter(self) -> Snapshotter | None:
        """What takes this incarnation's snapshots; None if the manifest names no store."""
        spec = self._manifest.spec.snapshots
        if spec is None or self._store is None:
            return None
        identity = SnapshotIdentity(
            self._manifest.name, self._incarnation, self._config_digest, rocksdb_state_format(pyspark.__version__)
        )
        retention = Retention(spec.retain_count, spec.retain_age.ms)
        return Snapshotter(self._store, identity, self._checkpoint, SnapshotterSettings(spec.interval.ms, retention))
