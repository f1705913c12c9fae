"""The state of a replica as files, on its machine and in the snapshot store; where a replica starts from."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from simulation.invariants import InvariantError
from simulation.tasks import Task
from tandem.checkpoint.folders import Checkpoint as Pinned
from tandem.checkpoint.position import EnginePosition
from tandem.protocol.restoring import Distances, Source, sources
from tandem.snapshots import Retention, SnapshotIdentity, SnapshotManifest, Snapshotter, SnapshotterSettings
from tandem.snapshots.errors import IncompleteCheckpointError, SnapshotStoreError

if TYPE_CHECKING:
    from simulation.standby import StandbyReplica

_FULL_EVERY = 6
_KEPT = 10
_AGAIN_MS = 40.0
_MEMORY = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else Path(tempfile.gettempdir())  # noqa: S108
_numbers = count()

CONFIG = "c0ffee"
"""The job's identity."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state after `epoch`, whose cut stands at `log_offset`, and the files that say so, numbered by `batch`."""

    epoch: int
    log_offset: int
    state: int
    files: Mapping[str, bytes]
    batch: int

    def next(self, epoch: int, log_offset: int, state: int) -> Checkpoint:
        """The checkpoint of the next batch: a full version now and then, else only what changed."""
        batch = self.batch + 1
        files = {path: content for path, content in self.files.items() if not path.endswith(".commit")}
        if batch % _FULL_EVERY == 0 or not files:
            files = {f"{batch}.zip": b"%016x" % state}
        else:
            files[f"{batch}.changelog"] = b"%016x" % (self.state ^ state)
        files[f"{batch}.commit"] = b"%d" % log_offset
        return Checkpoint(epoch, log_offset, state, files, batch)


NOTHING = Checkpoint(-1, 0, 0, {}, -1)


def read_back(position: EnginePosition, folder: Path, takes_batch_for_epoch: bool = False) -> Checkpoint:
    """What a restored folder says. Raises `ValueError` if that is nonsense, as what is altered may be."""
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    state, batch = 0, -1
    for path, content in files.items():
        if path.endswith(".commit"):
            batch = int(path.partition(".")[0])
        else:
            state ^= int(content, 16)
    epoch = batch if takes_batch_for_epoch else position.epoch
    return Checkpoint(epoch, position.log_offset, state, files, batch)


def new_folder() -> Path:
    """A folder that does not exist yet."""
    return _MEMORY / f"tandem-simulated-{os.getpid()}-{next(_numbers)}"


class _Everything(str):
    """Equals every other text."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, _: object) -> bool:
        return True

    def __ne__(self, _: object) -> bool:
        return False


class Machine:
    """Where checkpoints of one or several replicas lie, and are lost together."""

    def __init__(self) -> None:
        self.checkpoints: dict[int, Checkpoint] = {}

    def keep(self, checkpoint: Checkpoint) -> None:
        """A replica on this machine lends its state after an epoch."""
        self.checkpoints[checkpoint.epoch] = checkpoint
        while len(self.checkpoints) > _KEPT:
            del self.checkpoints[min(self.checkpoints)]


class States:
    """One incarnation's: what it starts from, as `tandem.replica.states` does, and the snapshots that it takes."""

    def __init__(self, replica: StandbyReplica) -> None:
        self._replica, self._world = replica, replica.world
        world, settings = replica.world, replica.world.redundancy
        self._due = 0.0
        self._busy = False
        self._remote = world.deviation.remote(world.store, replica.me)
        self._store = world.deviation.store(self._remote, None, settings.grace_ms, lambda: replica.now_ms)
        retention = Retention(settings.retained, settings.retained_ms)
        self._snapshotter = _Snapshotter(
            self, SnapshotterSettings(settings.snapshot_ms, retention, settings.collect_ms)
        )

    # Where to start from ---------------------------------------------------------------------------------------------

    def find(self, done: Callable[[Checkpoint], None]) -> None:
        """The newest state that is not after the last marker: that of this machine, or if it is far behind, the store's."""
        world, replica = self._world, self._replica
        last = 1 << 40 if world.deviation.restores_unpublished else world.last_marker()
        known = replica.machine.checkpoints
        usable = sorted(epoch for epoch in known if epoch <= last and known[epoch].log_offset >= world.log.beginning)
        local = known[usable[-1 if world.rng.random() < 0.7 else -min(2, len(usable))]] if usable else NOTHING
        world.reached("restoring", replica)
        distances = Distances(far=world.redundancy.far_epochs)
        if Source.STORE not in sources(last, local.epoch, -1, world.redundancy.store, distances):
            world.timeline.after(world.delay(), replica, self._found, local, done)
            return
        Task(replica, lambda task: self._fetch(task, last, local), lambda found: self._found(found, done))

    def _fetch(self, task: Task, last: int, local: Checkpoint) -> Checkpoint:
        self._remote.task = task
        target = new_folder()
        wanted = _Everything(CONFIG) if self._world.deviation.restores_any_config else CONFIG
        try:
            position = self._store.newest_usable(last, wanted, target, newer_than=local.epoch)
            return (
                local if position is None else read_back(position, target, self._world.deviation.takes_batch_for_epoch)
            )
        except SnapshotStoreError:
            return local
        except ValueError as error:
            raise InvariantError(f"{self._replica.name} restored nonsense: {error}") from error
        finally:
            shutil.rmtree(target, ignore_errors=True)
            self._world.store.readers.pop(self._replica.me, None)

    def _found(self, found: Checkpoint, done: Callable[[Checkpoint], None]) -> None:
        world = self._world
        fetched = found.epoch >= 0 and found not in self._replica.machine.checkpoints.values()
        if found.log_offset < world.log.beginning:
            if fetched and any(snapshot.epoch == found.epoch for snapshot in world.store.lasting()):
                raise InvariantError(
                    f"the log was cut off at {world.log.beginning}, but snapshot {found.epoch} needs more"
                )
            world.reached("nothing to start from yet")
            world.timeline.after(_AGAIN_MS, self._replica, self.find, done)
            return
        world.checker.on_restored(self._replica.name, found.epoch, found.log_offset, found.state)
        if found.epoch >= 0:
            world.reached("restored from a snapshot" if fetched else "restored from its machine", self._replica)
        elif world.checker.published:
            world.reached("began from nothing", self._replica)
        done(found)

    # Snapshots -------------------------------------------------------------------------------------------------------

    def offer(self, epoch: int, digest: str) -> None:
        """This replica has published `epoch`: a snapshot may be taken."""
        if not self._busy and self.wall_ms() >= self._due:
            self._busy = True
            Task(self._replica, lambda task: self._attempt(task, epoch, digest), self._attempted)

    def _attempt(self, task: Task, epoch: int, digest: str) -> int:
        self._remote.task = task
        self._snapshotter.offer(epoch, digest)
        return self._snapshotter._attempt(epoch)

    def _attempted(self, due: int) -> None:
        self._due, self._busy = due, False

    def wall_ms(self) -> int:
        """This process's wall clock, which differs a little from the store's."""
        return self._world.store.wall_ms() + self._replica.wall_offset_ms


class _Snapshotter(Snapshotter):
    """The product's, called from a task instead of running on its own thread, over checkpoints of the simulation."""

    def __init__(self, states: States, settings: SnapshotterSettings) -> None:
        self._states, self._world = states, states._world
        me = states._replica.me
        identity = SnapshotIdentity(states._world.job, me, CONFIG, "simulated")
        folder = new_folder()
        super().__init__(states._store, identity, folder, settings, states.wall_ms, self._saved)

    def _stands_at(self, epoch: int) -> int:
        return max((one for one in self._states._replica.own if one <= epoch), default=-1)

    def _pinned(self, epoch: int) -> Pinned:
        replica = self._states._replica
        known = [one for one in replica.own if one <= epoch]
        if not known:
            raise IncompleteCheckpointError("nothing was computed")
        checkpoint = replica.own[max(known)]
        for path, content in checkpoint.files.items():
            file = self._staging / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        return Pinned(self._staging, EnginePosition(checkpoint.epoch, checkpoint.log_offset), checkpoint.batch)

    def _saved(self, manifest: SnapshotManifest) -> None:
        self._world.store.on_saved(manifest)
