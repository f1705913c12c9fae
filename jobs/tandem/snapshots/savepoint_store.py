"""Making, finding and deleting savepoints in the snapshot store."""

import time
import uuid
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tandem.checkpoint.position import EnginePosition
from tandem.snapshots.errors import (
    NoSnapshotError,
    SavepointExistsError,
    SnapshotManifestError,
    UnknownSavepointError,
)
from tandem.snapshots.savepoints import (
    DELETED,
    SAVEPOINTS,
    Inputs,
    Savepoint,
    check_name,
    decode_savepoint,
    encode_savepoint,
    name_at,
    path_of,
)
from tandem.snapshots.store import SnapshotStore
from tandem.snapshots.values import SnapshotHead, SnapshotManifest
from tandem.waiting import Deadline, wait_until

_LOOK_EVERY_S: Final = 0.25


@dataclass(frozen=True, slots=True)
class DamagedSavepoint:
    """A file that should be a savepoint, and why it cannot be read. While it is there nothing is collected."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Listing:
    """All savepoints, newest epoch first, and those that are damaged."""

    savepoints: tuple[Savepoint, ...]
    damaged: tuple[DamagedSavepoint, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Of both, sorted."""
        return tuple(sorted([*(s.name for s in self.savepoints), *(d.name for d in self.damaged)]))


class Savepoints:
    """The savepoints of one job. Everything raises `SnapshotStoreError` if the store is away.

    `now_ms` : wall clock, ms since 1970.
    """

    def __init__(self, store: SnapshotStore, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._store = store
        self._now_ms = now_ms

    def create(self, name: str, snapshot: SnapshotManifest, inputs: Inputs) -> Savepoint:
        """Give a snapshot a name: from now on it stays.

        Of two processes that take the same name in the same moment, one is refused (`Remote.put_new`).

        Raises `SavepointNameError`, `SavepointExistsError`: the name cannot be used, or is used; `NoSnapshotError`: the
        snapshot was collected meanwhile; `SnapshotCorruptError`: a file of the snapshot is missing from the store.
        """
        self.check_free(name)
        savepoint = Savepoint(name, self._now_ms(), inputs, snapshot)
        with _as_the_only_one(name):
            self._store.keep(snapshot, path_of(name), lambda: self._content(savepoint))
        return self._mine(savepoint)

    def copy(self, name: str, savepoint: Savepoint) -> Savepoint:
        """Give the state of a savepoint another name as well. Raises what `create` raises."""
        self.check_free(name)
        made = replace(savepoint, name=name, created_at_ms=self._now_ms())
        with _as_the_only_one(name):
            self._store.keep(made.snapshot, path_of(name), lambda: self._content(made), path_of(savepoint.name))
        return self._mine(made)

    def save(self, name: str, head: SnapshotHead, folder: Path, inputs: Inputs, rescaled_from: str = "") -> Savepoint:
        """Save all files of a checkpoint in `folder` as a savepoint. No replica finds it by itself, as it would a snapshot.

        Raises `SavepointNameError`, `SavepointExistsError`, `IncompleteCheckpointError`.
        """
        self.check_free(name)

        def file(manifest: SnapshotManifest) -> tuple[str, bytes]:
            return path_of(name), self._content(made(manifest))

        def made(manifest: SnapshotManifest) -> Savepoint:
            return Savepoint(name, created, inputs, manifest, rescaled_from)

        created = self._now_ms()
        with _as_the_only_one(name):
            manifest = self._store.save(head, folder, named_in=file)
        return self._mine(made(manifest))

    def check_free(self, name: str) -> None:
        """Raises `SavepointNameError` or `SavepointExistsError` if no savepoint can be made under this name."""
        check_name(name)
        try:
            self._store.remote.read(path_of(name))
        except FileNotFoundError:
            return
        raise SavepointExistsError(f"there is a savepoint {name} already: delete it first, or choose another name")

    def get(self, name: str) -> Savepoint:
        """The savepoint of that name. Raises `UnknownSavepointError`, `SnapshotManifestError` if it is damaged."""
        try:
            return self._read(check_name(name))
        except FileNotFoundError as error:
            names = ", ".join(self.list().names)
            raise UnknownSavepointError(
                f"there is no savepoint {name}: " + (f"there are {names}" if names else "there is none yet")
            ) from error

    def list(self) -> Listing:
        """All savepoints."""
        savepoints, damaged = [], []
        for name in filter(None, map(name_at, self._store.remote.files(SAVEPOINTS))):
            try:
                savepoints.append(self._read(name))
            except FileNotFoundError:
                continue  # deleted meanwhile
            except SnapshotManifestError as error:
                damaged.append(DamagedSavepoint(name, str(error)))
        savepoints.sort(key=lambda savepoint: (-savepoint.snapshot.epoch, savepoint.name))
        return Listing(tuple(savepoints), tuple(sorted(damaged, key=lambda one: one.name)))

    def delete(self, name: str) -> None:
        """Delete a savepoint, damaged or not. Who reads it now has the store's grace period to end.

        Raises `UnknownSavepointError`.
        """
        try:
            content = self._store.remote.read(path_of(check_name(name)))
        except FileNotFoundError:
            self.get(name)  # says which there are
            return
        # In this order: a collector that finds the first file gone finds the second one.
        self._store.remote.put_bytes(content, f"{DELETED}/{name}-{uuid.uuid4().hex[:8]}.json")
        self._store.remote.remove(path_of(name))

    def restore(self, savepoint: Savepoint, target: Path) -> EnginePosition:
        """Bring a savepoint to the folder `target`, which must be absent or empty; returns where it stands.

        Raises `SnapshotCorruptError`, `FileExistsError`.
        """
        self._store.restore(savepoint.snapshot, target)
        return EnginePosition(savepoint.snapshot.epoch, savepoint.snapshot.log_offset)

    def _read(self, name: str) -> Savepoint:
        savepoint = decode_savepoint(self._store.remote.read(path_of(name)))
        if savepoint.name != name:
            raise SnapshotManifestError(f"it is that of {savepoint.name}")
        return savepoint

    def _content(self, savepoint: Savepoint) -> bytes:
        """Of its file. To be called right before it is written: the name may have been taken while files were sent."""
        self.check_free(savepoint.name)
        return encode_savepoint(savepoint)

    def _mine(self, savepoint: Savepoint) -> Savepoint:
        """What was written just now is still there: not every store knows how to let only one of two write."""
        if self._read(savepoint.name) != savepoint:
            raise _taken(savepoint.name)
        return savepoint


@contextmanager
def _as_the_only_one(name: str) -> Iterator[None]:
    """Write a savepoint of that name. Raises `SavepointExistsError`: another was faster."""
    try:
        yield
    except FileExistsError as error:
        raise _taken(name) from error


def _taken(name: str) -> SavepointExistsError:
    return SavepointExistsError(f"somebody else has just made a savepoint {name}: choose another name")


Wanted = Callable[[SnapshotManifest], bool]
"""Whether a snapshot is recent enough."""


def not_before_epoch(epoch: int) -> Wanted:
    """Snapshots that include `epoch`."""
    return lambda snapshot: snapshot.epoch >= epoch


def not_before_ms(moment_ms: int) -> Wanted:
    """Snapshots that were begun at this moment or later (wall clock, ms since 1970)."""
    return lambda snapshot: snapshot.taken_at_ms >= moment_ms


def newest_snapshot(
    store: SnapshotStore,
    wanted: Wanted = lambda _: True,
    deadline: Deadline | None = None,
    looked: Callable[[SnapshotManifest | None], None] = lambda _: None,
    lineages: Collection[str] | None = None,
) -> SnapshotManifest:
    """The newest snapshot, if need be after waiting until it is `wanted`; without a deadline there is no waiting.

    `looked` is called with the newest one whenever it was looked for. `lineages`: of these only, see `Config.lineages`; a
    store may have snapshots of earlier generations, and of an earlier run of the job, whose topics are gone.

    Raises `NoSnapshotError`: there is none like that; it tells the newest one.
    """
    newest: SnapshotManifest | None = None

    def is_there() -> bool:
        nonlocal newest
        newest = store.newest(lineages)
        looked(newest)
        return newest is not None and wanted(newest)

    if not wait_until(is_there, deadline or Deadline(0), _LOOK_EVERY_S) or newest is None:
        none = "there is no snapshot" + ("" if lineages is None else " of the generation that runs now")
        raise NoSnapshotError(none if newest is None else "there is no newer snapshot", newest)
    return newest
