"""Where a replica's state comes from: checkpoints of this machine's replicas first, then the snapshot store."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import pyspark

from tandem.checkpoint.compared import ComparedEpochs, newest_compared, restore
from tandem.checkpoint.folders import begin_after
from tandem.checkpoint.position import EnginePosition
from tandem.logs import get_logger
from tandem.manifest import Manifest
from tandem.process.info import RefusedError
from tandem.protocol.restoring import Distances, Source, sources
from tandem.protocol.values import Config
from tandem.replica.leftovers import siblings
from tandem.replica.local_savepoints import LINEAGE, is_local, lineage_of, local_savepoints
from tandem.shipping import Bases, FirstOf, LocalBases, StoredBases
from tandem.snapshots import (
    Retention,
    Savepoint,
    Savepoints,
    SnapshotError,
    SnapshotIdentity,
    SnapshotStore,
    SnapshotStoreError,
    Snapshotter,
    SnapshotterSettings,
    StoredTables,
    layout,
    misfits,
    rocksdb_state_format,
)
from tandem.waiting import Deadline, wait_until
from tandem.waits import Task

_log = get_logger(__name__)

_LOST = (
    "If it is lost: give the job another value of spec.job.options, and start it with --accept-changes, so that it computes "
    "its state from its inputs again"
)
_STORE_S, _STORE_LOOK_S = 90.0, 1.0
_STORE_BACK = (
    "Bring the store of spec.snapshots back. If it is lost: name another one there, and the job computes its state from its "
    "inputs again"
)


class Followed(Protocol):
    """State that this incarnation has followed while it stood by; see `StateShipping`."""

    @property
    def followed(self) -> int:
        """The epoch that it stands at; −1: there is none."""

    @property
    def epochs_a_batch(self) -> int:
        """How many epochs its batches have at most."""

    def hand_over(self, target: Path) -> EnginePosition | None:
        """It becomes the new folder `target`."""


class States:
    """The states that an incarnation may start from, and the snapshots that it takes of its own.

    `folder` : this incarnation's; its siblings are those of other incarnations, `checkpoint` in it is Spark's.
    """

    def __init__(self, manifest: Manifest, incarnation: str, folder: Path) -> None:
        self._manifest = manifest
        self._incarnation = incarnation
        self._folder = folder
        self._config: Config | None = None
        self._compared: ComparedEpochs | None = None
        spec = manifest.spec.snapshots
        self._store: SnapshotStore | None = None
        if spec is not None:
            options = spec.options(os.environ, manifest.base)
            self._store = SnapshotStore(spec.url(manifest.name, manifest.base), options)
        self.tables = None if self._store is None else StoredTables(self._store.remote)
        """Copies of the job's static tables; None without a store."""

    def fitting_savepoint(self, name: str, partitions: Mapping[str, int]) -> Savepoint:
        """The savepoint that an upgrade starts from; `partitions`: of the sources' topics.

        Raises `RefusedError`; `SnapshotStoreError`: the store is away.
        """
        savepoint, spec = self._savepoint(name), self._manifest.spec
        sources = layout(((source.name, source.topics) for source in spec.sources), partitions)
        found = misfits(savepoint, sources, spec.spark.parallelism)
        if found:
            raise RefusedError(
                f"the job cannot go on from savepoint {name}: {'; '.join(found)}. Change that back; or give the changed job "
                "another metadata.name, so that it begins with no state, at the first records of its inputs"
            )
        return savepoint

    def belong_to(self, config: Config) -> None:
        """This incarnation's generation is that of `config`. State of another one is never restored."""
        self._config = config
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._compared is None:
            self._compared = ComparedEpochs(self._folder)
        (self._folder / LINEAGE).write_text(config.lineage)

    def compared(self, epoch: int) -> None:
        """What is published up to `epoch` is what this incarnation has computed: others may go on from its state of then."""
        assert self._compared is not None, "belong_to comes first"  # noqa: S101
        self._compared.up_to(epoch)

    @property
    def compared_epoch(self) -> int:
        """The last epoch that was `compared`; −1: none."""
        return -1 if self._compared is None else self._compared.epoch

    def close(self) -> None:
        """Nothing is compared any more."""
        if self._compared is not None:
            self._compared.close()

    def disown(self) -> None:
        """This incarnation has diverged: nobody may go on from its state. Nothing else shows that it is wrong.

        Raises nothing: each of two files is enough, and why the incarnation ends must be said in any case.
        """
        lineage = self._folder / LINEAGE
        both: tuple[Callable[[], None], ...] = (lambda: self.compared(-1), lambda: lineage.unlink(missing_ok=True))
        for forget in both:
            try:
                forget()
            except (OSError, ValueError) as error:
                remedy = "remove that folder before another replica of the job starts on this machine"
                _log.error("not_disowned", folder=str(self._folder), reason=repr(error), remedy=remedy)

    @property
    def checkpoint(self) -> Path:
        """This incarnation's checkpoint folder."""
        return self._folder / "checkpoint"

    def relatives(self) -> list[Path]:
        """Folders of all other incarnations of this generation on this machine."""
        return [folder for folder in siblings(self._folder) if lineage_of(folder) in self._lineages]

    def checkpoints(self) -> list[Path]:
        """The checkpoints of `relatives`."""
        return sorted(folder / "checkpoint" for folder in self.relatives())

    def oldest(self, last_published: int) -> EnginePosition:
        """Where the oldest state stands that anyone may restore: the store's, or where there is none this machine's.

        Raises `SnapshotStoreError`.
        """
        oldest = None if self._store is None else self._store.oldest()
        if oldest is not None:
            return EnginePosition(oldest.epoch, oldest.log_offset)
        found = (newest_compared([folder], last_published) for folder in (self.checkpoint, *self.checkpoints()))
        positions = [checkpoint.position for checkpoint in found if checkpoint is not None]
        return min(positions, key=lambda position: position.epoch, default=EnginePosition())

    def bases(self) -> Bases:
        """Where this incarnation begins to follow state: on this machine, or with a snapshot."""
        local = LocalBases(self.checkpoints)
        return local if self._store is None else FirstOf(local, StoredBases(self._store, self._lineages))

    def restore(self, last_published: int, followed: Followed, task: Task | None = None) -> EnginePosition:
        """Restore the newest state that is not after `last_published`; returns where it stands.

        `followed` costs nothing to take: it is renamed, not copied. `task`: says that the store is waited for, at most 90 s,
        if it is away and there is no other state; None: the job can do without.
        Raises `RefusedError` if a generation's savepoint is needed and cannot be had; `SnapshotStoreError` if the store is
        away, and all epochs would have to be computed without it.
        """
        away: SnapshotStoreError | None = None
        checkpoints = self.checkpoints()
        found = newest_compared(checkpoints, last_published)
        local = -1 if found is None else found.position.epoch
        mine = max(local, followed.followed if followed.followed <= last_published else -1)
        distances = Distances.between(max(followed.epochs_a_batch, 1 if found is None else found.epochs))
        is_gone = False  # dropped, as wrong, since it was asked for: what is older is wanted, too
        for source in sources(last_published, local, followed.followed, self._store is not None, distances):
            position = None
            if source is Source.FOLLOWED:
                position = followed.hand_over(self.checkpoint)
                is_gone = position is None and mine > local
                if position is not None:
                    _log.info("followed_state_used", epoch=position.epoch, last_published=last_published)
            elif source is Source.STORE or is_gone:
                try:
                    position = self._newest_stored(last_published, local if is_gone else mine)
                except SnapshotStoreError as error:
                    away = error
                    _log.warning("snapshot_store_away", reason=str(error), effect="state is looked for elsewhere")
            if position is not None:
                return position
        position = restore(checkpoints, last_published, self.checkpoint)
        if not set(checkpoints) <= set(self.checkpoints()):  # one was disowned meanwhile: this may be its state
            shutil.rmtree(self.checkpoint, ignore_errors=True)
            return self.restore(last_published, followed, task)
        if position.epoch < 0 <= last_published and away is not None and task is not None:
            position = self._stored_when_back(last_published, away, task) or position
        return position if position.epoch >= 0 else self._beginning(position)

    def _newest_stored(self, last_published: int, newer_than: int) -> EnginePosition | None:
        if self._store is None:
            return None
        return self._store.newest_usable(last_published, self._lineages, self.checkpoint, newer_than=newer_than)

    def _stored_when_back(self, last_published: int, away: SnapshotStoreError, task: Task) -> EnginePosition | None:
        """What the store has, once it answers: without it all epochs would be computed again."""
        task.at("an answer of the snapshot store: there is no state elsewhere", lambda: _STORE_BACK)
        found: list[EnginePosition | None] = []
        last = away

        def answers() -> bool:
            nonlocal last
            try:
                found.append(self._newest_stored(last_published, -1))
            except SnapshotStoreError as error:
                last = error
            return bool(found)

        if not wait_until(answers, Deadline(_STORE_S), _STORE_LOOK_S):
            raise SnapshotStoreError(
                f"{last}. This machine has no state of the job, so all epochs would have to be computed again. {_STORE_BACK}"
            ) from last
        return found[0]

    def begin_after(self, position: EnginePosition) -> EnginePosition:
        """The state of a job without state, after any epoch: nothing but that epoch's number."""
        if position.epoch < 0:
            return position
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        begin_after(self.checkpoint, position)
        _log.info("stateless_begun", epoch=position.epoch)
        return position

    def snapshotter(self, task: Task) -> Snapshotter | None:
        """What takes this incarnation's snapshots; None if the manifest names no store."""
        spec = self._manifest.spec.snapshots
        if spec is None or self._store is None:
            return None
        identity = SnapshotIdentity(
            self._manifest.name, self._incarnation, self._lineage, rocksdb_state_format(pyspark.__version__)
        )
        retention = Retention(spec.retain_count, spec.retain_age.ms)
        settings = SnapshotterSettings(spec.interval.ms, retention)
        return Snapshotter(self._store, identity, self.checkpoint, settings, task=task)

    @property
    def _lineage(self) -> str:
        assert self._config is not None, "belong_to comes first"  # noqa: S101
        return self._config.lineage

    @property
    def _lineages(self) -> tuple[str, ...]:
        assert self._config is not None, "belong_to comes first"  # noqa: S101
        return self._config.lineages

    def _savepoint(self, name: str) -> Savepoint:
        try:
            return self._savepoints(name).get(name)
        except SnapshotStoreError:
            raise  # it is away: that the savepoint is lost, nobody knows
        except SnapshotError as error:
            raise RefusedError(f"savepoint {name}: {error}. {_LOST}") from error

    def _savepoints(self, name: str) -> Savepoints:
        """Where the savepoint `name` is: beside the checkpoints, or in the store."""
        directory = self._folder.parent
        if self._store is None or is_local(directory, name):
            return local_savepoints(directory, name)
        return Savepoints(self._store)

    def _beginning(self, nothing: EnginePosition) -> EnginePosition:
        """Where the generation began: with no state at all, or with its savepoint."""
        if self._config is None or not self._config.savepoint:
            return nothing
        savepoint = self._savepoint(self._config.savepoint)
        if savepoint.snapshot.epoch != self._config.base:
            raise RefusedError(
                f"savepoint {savepoint.name} is of epoch {savepoint.snapshot.epoch}, but generation "
                f"{self._config.generation} began with one of that name of epoch {self._config.base}: it was made again"
            )
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        try:
            position = self._savepoints(savepoint.name).restore(savepoint, self.checkpoint)
        except SnapshotStoreError:
            raise
        except SnapshotError as error:
            raise RefusedError(f"savepoint {savepoint.name}: {error}") from error
        _log.info("savepoint_restored", savepoint=savepoint.name, epoch=position.epoch)
        return position
