"""Replicas that take snapshots of their checkpoints, and what the store has of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tandem.snapshots import SnapshotIdentity, SnapshotStore, Snapshotter, SnapshotterSettings
from tandem.snapshots.remote import Remote
from tandem.waiting import Deadline, wait_until
from tandem.waits import Waits
from unit.snapshots.snapshot_builders import NOW_MS, checkpoint, epoch_files, fill

INTERVAL_MS = 5_000
DEFAULTS = SnapshotterSettings()
DEADLINE_S = 20.0


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition that other threads bring about."""
    assert wait_until(condition, Deadline(DEADLINE_S), 0.005), f"not within {DEADLINE_S:.0f} s: {what}"


class Clock:
    """Wall clock of all replicas of a test."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS

    def __call__(self) -> int:
        return self.now_ms


class Replica:
    """A replica with its checkpoint and its snapshotter.

    `has_clock` : the store has a clock of its own; otherwise it has the replica's.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        root: Path,
        clock: Callable[[], int],
        settings: SnapshotterSettings,
        has_clock: bool = False,
    ) -> None:
        self.waits = Waits(0.0)
        self.checkpoint = checkpoint(folder / name / "checkpoint", last=0)
        self.snapshotter = Snapshotter(
            SnapshotStore(f"faulty://{root}" if has_clock else Timed(f"faulty://{root}", clock)),
            SnapshotIdentity("j", f"j.{name}.1a", "c", "spark 4.3.0, rocksdb-changelog"),
            self.checkpoint,
            settings,
            clock,
            task=self.waits.task(beside=True),
        )
        self.snapshotter.start()

    def publish(self, epoch: int) -> None:
        """Commit an epoch and offer it."""
        fill(self.checkpoint, epoch_files(epoch))
        self.snapshotter.offer(epoch, f"digest of {epoch}")

    @property
    def is_idle(self) -> bool:
        """Whether nothing is kept for a snapshot under way."""
        return not (self.checkpoint.parent / "checkpoint-snapshot").exists()


Start = Callable[..., Replica]


class Timed(Remote):
    """A store by whose clock each file is written now."""

    def __init__(self, url: str, clock: Callable[[], int]) -> None:
        super().__init__(url, {})
        self._clock = clock

    def written_at_ms(self, path: str) -> int:
        super().written_at_ms(path)
        return self._clock()


def newest(root: Path) -> int:
    """The epoch of the newest snapshot."""
    manifest = SnapshotStore(str(root)).newest()
    return -1 if manifest is None else manifest.epoch


def taken_by(root: Path) -> list[tuple[int, str]]:
    return [(manifest.epoch, manifest.incarnation) for manifest in SnapshotStore(str(root)).list()]
