"""Several processes save, restore and collect snapshots as fast as they can, and pause: the store alone, at close quarters.

The states of a job run on here: every save shares most of its contents with earlier ones, whoever took them.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from random import Random

from simulation.invariants import InvariantError
from simulation.process import Process
from simulation.scale import scaled_down
from simulation.schedule import Schedule
from simulation.states import CONFIG, new_folder
from simulation.store import SimulatedRemote
from simulation.tasks import Task
from simulation.world import World
from tandem.snapshots import Retention, SnapshotCorruptError, SnapshotError, SnapshotStore
from tandem.snapshots.values import SnapshotHead

_PROCESSES = 3
_UNTIL_MS = 2_500.0
_EPOCH_MS = 25.0
_BASE_EPOCHS = 16


class Saver(Process):
    """Saves the present state, restores the newest snapshot, or collects garbage; then does the next of these."""

    def __init__(self, world: World, number: int, store: type[SnapshotStore]) -> None:
        super().__init__(world, f"saver-{number}")
        self.life, self.alive = 1, True
        self._remote = SimulatedRemote(world.store, self.name)
        self._store = store(self._remote, None, world.redundancy.grace_ms, lambda: self.now_ms)
        self._saved = -1
        self._wall_offset_ms = world.rng.randint(-2, 2)

    def go_on(self, _: object = None) -> None:
        """Do the next thing, now or in a while."""
        rng, world = self.world.rng, self.world
        if world.timeline.now > _UNTIL_MS:
            return
        if rng.random() < 0.3:
            self.paused_until = world.timeline.now + rng.uniform(5, 60)
        world.timeline.after(
            rng.uniform(0, 30), self, self._begin, rng.choice((self._save, self._save, self._restore, self._collect))
        )
        if rng.random() < 0.25:
            world.timeline.after(rng.uniform(0, 40), None, self._pause, rng.uniform(50, 350))

    def _pause(self, ms: float) -> None:
        self.paused_until = self.world.timeline.now + ms

    def _begin(self, what: Callable[[], None]) -> None:
        def body(task: Task) -> None:
            self._remote.task = task
            try:
                what()
            except SnapshotCorruptError as error:
                raise InvariantError(f"{self.name}: {error}") from error
            except SnapshotError:
                self.world.reached("gave up")

        Task(self, body, self.go_on)

    def _save(self) -> None:
        epoch = int(self.world.timeline.now / _EPOCH_MS)
        if epoch == self._saved:
            return
        self._saved = epoch
        folder = new_folder()
        folder.mkdir()
        base = epoch - epoch % _BASE_EPOCHS
        for number in {base, (base + epoch) // 2, epoch}:
            (folder / f"{number}").write_text(f"what changed in {number}")
        try:
            head = SnapshotHead("job", epoch, 0, CONFIG, "", self._wall_ms(), "simulated", self.name)
            self.world.store.on_saved(self._store.save(head, folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _restore(self) -> None:
        target = new_folder()
        began = self.world.timeline.now
        try:
            newest = self._store.newest()
            if newest is not None:
                self._store.restore(newest, target)
                self.world.reached("restored from a snapshot")
        except SnapshotCorruptError:
            if self.world.timeline.now - began < self.world.redundancy.grace_ms / 2:
                raise
            self.world.reached("garbage collection overtook a reader")
        finally:
            shutil.rmtree(target, ignore_errors=True)

    def _collect(self) -> None:
        self._store.collect_garbage(Retention(1, 0), self._wall_ms())

    def _wall_ms(self) -> int:
        return self.world.store.wall_ms() + self._wall_offset_ms


def race(seed: int, store: type[SnapshotStore] = SnapshotStore) -> World:
    """Run one seed. Raises `InvariantError`."""
    rng = Random(seed)
    calm = next(schedule for schedule in map(Schedule.redundant, range(1_000)) if schedule.alone)
    assert calm.redundancy is not None
    redundancy = replace(calm.redundancy, grace_ms=rng.choice((100, 160)), tears=0.0)
    world = World(replace(calm, seed=seed, slow_messages=rng.choice((0.0, 0.05)), redundancy=redundancy))
    with scaled_down():
        savers = [Saver(world, number, store) for number in range(_PROCESSES)]
        for saver in savers:
            saver.go_on()
        try:
            while world.timeline.now <= _UNTIL_MS and world.timeline.step():
                pass
        finally:
            for task in world.tasks:
                task.kill()
    return world
