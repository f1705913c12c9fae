"""The states of a job's lanes when the number of lanes changes: found, checked, and divided among the new lanes."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Final

import pyspark
from pyspark.sql import SparkSession

from tandem.checkpoint.compared import newest_compared
from tandem.checkpoint.folders import Checkpoint, find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.checkpoint.relocation import relocate
from tandem.engine.kept_state import noted_states
from tandem.local.lane_logs import LaneLog
from tandem.manifest import Manifest
from tandem.manifest.identity import parts_of
from tandem.process.info import RefusedError
from tandem.protocol.lanes import Boundary, LogRead, came_from
from tandem.protocol.values import Cut, Offsets
from tandem.replica.identity_parts import engine_of
from tandem.replica.local_savepoints import checkpoints_of, local_savepoints
from tandem.snapshots import (
    Inputs,
    Savepoints,
    SnapshotHead,
    SnapshotManifest,
    SnapshotStore,
    UnknownSavepointError,
    rocksdb_state_format,
)
from tandem.snapshots.local import pin
from tandem.snapshots.savepoints import state_partitions
from tandem.state.divide import Belongs, divide
from tandem.state.room import DIVIDED, room_for

REAL_TIME = "state that the real-time engine has written cannot be divided among lanes yet"
_PREFIX: Final = "lanes-"
_MADE: Final = re.compile(_PREFIX + r"\d+-generation-\d+-epoch-\d+")
"""What only a change of lanes is called: a user's savepoint may begin alike."""


def savepoint_name(lanes: int, boundary: Boundary) -> str:
    """What the state is called that a lane goes on from."""
    return f"{_PREFIX}{lanes}-generation-{boundary.generation}-epoch-{boundary.epoch}"


def store_of(lane: Manifest) -> SnapshotStore | None:
    """Where the lane's snapshots are, if it takes any."""
    spec = lane.spec.snapshots
    return None if spec is None else SnapshotStore(spec.url(lane.name, lane.base), spec.options(os.environ, lane.base))


def exact_state(log: LaneLog, folder: Path) -> Checkpoint | None:
    """A copy in `folder` of the state of a lane after its last published epoch; None if the lane has published none, or the
    job keeps no state.

    It is a replica's of this machine, or a snapshot; or what the last change of lanes has made, if nothing was published
    since. Raises `RefusedError`: none is.
    """
    if log.published < 0:
        return None
    lane, lineages = log.lane, log.config.lineages
    local = newest_compared(checkpoints_of(lane.checkpoint_directory, lineages), log.published)
    newest = -1 if local is None else local.position.epoch
    if local is not None and newest == log.published:
        copy = pin(local.folder, log.published, folder)
    else:
        store = store_of(lane)
        snapshots = () if store is None else store.list()
        mine = [one for one in snapshots if one.config_digest in lineages and one.epoch <= log.published]
        newest = max([newest, *(one.epoch for one in mine)])
        if local is not None and noted_states(local.folder) == []:
            return None  # a job without state begins after any epoch
        if newest != log.published and _is_as_made(log):
            return _made_state(log, folder)
        if store is None or not mine or newest != log.published or mine[0].epoch != newest:
            if store is not None and mine and _keeps_nothing(store, mine[0], folder):
                return None
            raise RefusedError(
                f"{lane.name} has published epoch {log.published:,}, but its state on this machine"
                f"{'' if store is None else ' or in its snapshots'} is that of "
                f"{f'epoch {newest:,}' if newest >= 0 else 'no epoch'}. Start the job as it was, where its state is, and "
                "stop it when all lanes have caught up; then change their number"
            )
        with room_for(DIVIDED * mine[0].size):
            store.restore(mine[0], folder)
        copy = _only(folder, newest)
    relocate(folder)
    return copy


def _is_as_made(log: LogRead) -> bool:
    """Whether a lane has published nothing since the last change of lanes."""
    return log.config.moved and log.published == log.config.base


def _made_state(log: LaneLog, folder: Path) -> Checkpoint | None:
    """A copy in `folder` of what the last change of lanes has made for a lane; None: the job keeps no state."""
    name = log.config.savepoint
    if not name:
        return None
    savepoints = savepoints_of(log.lane, name)
    try:
        savepoint = savepoints.get(name)
    except UnknownSavepointError as error:
        raise RefusedError(
            f"{log.lane.name} has published nothing since spec.lanes changed last, and its state of then, savepoint {name}, "
            "is not on this machine or in its snapshot store: change spec.lanes where that is"
        ) from error
    with room_for(DIVIDED * savepoint.snapshot.size):
        savepoints.restore(savepoint, folder)
    copy = _only(folder, savepoint.snapshot.epoch)
    relocate(folder)
    return copy


def _keeps_nothing(store: SnapshotStore, snapshot: SnapshotManifest, folder: Path) -> bool:
    """Whether it is of a job without state, which begins after any epoch."""
    if state_partitions(snapshot):
        return False
    store.restore(snapshot, folder)
    return noted_states(folder) == []


def newest_snapshot(lane: Manifest, log: LogRead) -> SnapshotManifest | None:
    """That of a lane which may run; None: it keeps no state. Raises `RefusedError`: there is none, or it cannot be divided.

    A lane that has published nothing since the last change of lanes has the state that was made for it then.
    """
    config = log.config
    store = store_of(lane)
    if store is None:
        raise RefusedError(
            f"{lane.name} takes no snapshots, and its state is nowhere else when it has stopped: add spec.snapshots first"
        )
    newest = next((one for one in store.list() if one.config_digest in config.lineages), None)
    if newest is None and _is_as_made(log):
        return Savepoints(store).get(config.savepoint).snapshot if config.savepoint else None
    if newest is None:
        raise RefusedError(f"{lane.name} has no snapshot yet: try again when it has taken one")
    if engine_of(parts_of(config.digest)) and state_partitions(newest):
        raise RefusedError(REAL_TIME)
    return newest


def stored_state(lane: Manifest, snapshot: SnapshotManifest, folder: Path) -> Checkpoint | None:
    """A copy of its state in `folder`; None if the job keeps none. Raises `RefusedError`, `SnapshotError`."""
    store = store_of(lane)
    if store is None or not state_partitions(snapshot):
        return None
    with room_for(snapshot.size):
        store.restore(snapshot, folder)
    copy = _only(folder, snapshot.epoch)
    relocate(folder)
    return copy


def _only(folder: Path, epoch: int) -> Checkpoint:
    found = find_newest([folder], epoch)
    if found is None:
        raise RefusedError(f"the snapshot of epoch {epoch:,} holds no state that this Tandem can read")
    return found


@dataclass(frozen=True, slots=True)
class States:
    """The exact states of the lanes before, by lane: of those that have published anything."""

    exact: Mapping[int, Checkpoint]
    lanes: int
    before: int

    @property
    def all(self) -> tuple[Checkpoint, ...]:
        """Of all lanes, in their order."""
        return tuple(self.exact[lane] for lane in sorted(self.exact))

    def sources(self, lane: int) -> Mapping[int, Checkpoint]:
        """The states, by lane before, that may have keys of that new lane."""
        return {old: self.exact[old] for old in came_from(lane, self.lanes, self.before) if old in self.exact}


@dataclass(frozen=True, slots=True)
class NewState:
    """Of a new lane, in `folder`; `start`: where the lane reads on."""

    lane: Manifest
    folder: Path
    start: Offsets


def make_state(
    spark: SparkSession, states: States, lane: int, target: Path, after: EnginePosition, belongs: Belongs | None
) -> None:
    """The state of a new lane, in the folder `target`. Raises `DivideError`."""
    sources = tuple(states.sources(lane).values())
    divide(spark, sources or states.all[:1], target, after, belongs, empty=not sources)


def keep(new: NewState, name: str, boundary: Boundary, lineage: str, log_offset: int) -> None:
    """Save a new lane's state as its savepoint `name`: in its snapshot store, else beside the checkpoints of this machine.

    Raises `SnapshotError`, `OSError`.
    """
    head = SnapshotHead(
        job=new.lane.name,
        epoch=boundary.epoch,
        log_offset=log_offset,
        config_digest=lineage,
        digest="",
        taken_at_ms=time.time_ns() // 1_000_000,
        state_format=rocksdb_state_format(pyspark.__version__),
        incarnation=f"{new.lane.name}.lanes",
    )
    sources = [(source.name, tuple(source.topics)) for source in new.lane.spec.sources]
    inputs = Inputs.of(sources, Cut(boundary.epoch, new.start, 0, 0, ""))
    savepoints_of(new.lane, name).save(name, head, new.folder, inputs)


def savepoints_of(lane: Manifest, name: str) -> Savepoints:
    """Where the savepoint of a new lane's state is, or is made."""
    store = store_of(lane)
    return local_savepoints(lane.checkpoint_directory, name) if store is None else Savepoints(store)


def remove_unused(lane: Manifest, used: str) -> None:
    """Remove states that a change of lanes has made which was not finished; `used`: the one that is."""
    store = store_of(lane)
    if store is not None:
        savepoints = Savepoints(store)
        for name in savepoints.list().names:
            if _MADE.fullmatch(name) and name != used:
                savepoints.delete(name)
        return
    for folder in lane.checkpoint_directory.glob(f"savepoints/{_PREFIX}*"):
        if _MADE.fullmatch(folder.name) and folder.name != used:
            rmtree(folder)
