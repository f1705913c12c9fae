"""Replicas that write and collect at random, also in the midst of each other's work, in a store that fails now and then."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

from tandem.snapshots import Retention, SnapshotStore, SnapshotStoreError
from unit.snapshots.snapshot_builders import GRACE_MS, age, fill, head, wall_ms


class World:
    """Stores that share a folder and a clock, and that are interrupted by each other."""

    def __init__(self, root: Path, folder: Path, chance: random.Random) -> None:
        self.restored = 0
        self._root = root
        self._folder = folder
        self._chance = chance
        self._now_ms = 0.0
        self._epoch = 0
        self._interfering = False
        self._stores = [
            SnapshotStore(f"faulty://{root}", grace_ms=GRACE_MS, clock_ms=lambda: self._now_ms) for _ in range(2)
        ]

    def wait(self, periods: float) -> None:
        """Let so many grace periods pass."""
        self._now_ms += periods * GRACE_MS
        age(self._root, int(periods * GRACE_MS))

    def turn(self) -> None:
        """A replica writes or collects; the store may fail it."""
        store = self._chance.choice(self._stores)
        with suppress(SnapshotStoreError):
            if self._chance.random() < 0.6:
                self._epoch += 1
                made = {f"state/{n}": b"content %d" % n for n in self._chance.sample(range(6), 3)}
                store.save(head(self._epoch, wall_ms()), fill(self._folder / str(self._epoch), made))
            else:
                store.collect_garbage(Retention(count=2, age_ms=0), wall_ms(1))

    def interfere(self, operation: str, _path: str) -> None:
        """Called before each change of the store."""
        if operation in ("list", "read") or self._interfering:
            return
        self._interfering = True
        if self._chance.random() < 0.15:
            self.wait(self._chance.choice([0, 0.2, 0.45]))
            self.turn()
        self._interfering = False
        if self._chance.random() < 0.03:
            raise ConnectionError("gone")
