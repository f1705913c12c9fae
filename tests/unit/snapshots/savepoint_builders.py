"""Savepoints of these tests."""

from __future__ import annotations

from pathlib import Path

from tandem.protocol.values import Cut, Offsets, TopicPartition
from tandem.snapshots import Inputs, SnapshotManifest, SnapshotStore
from tandem.snapshots.savepoints import path_of
from unit.snapshots.snapshot_builders import Contents, fill, head

TAKEN_AT_MS = 1_700_000_000_000
SOURCES = (("flights", ("flights",)), ("weather", ("weather", "wind")))
ENDS = Offsets(
    {
        TopicPartition("flights", 0): 10,
        TopicPartition("flights", 1): 20,
        TopicPartition("weather", 0): 30,
        TopicPartition("wind", 0): 0,
    }
)
INPUTS = Inputs.of(SOURCES, Cut(7, ENDS, time_ms=99, seed=1, proposer="o"))


def saved(store: SnapshotStore, folder: Path, epoch: int = 7, more: Contents | None = None) -> SnapshotManifest:
    """A snapshot with a file that all have, and one of its own in each of two partitions of state."""
    own = {f"state/0/{partition}/{epoch + 1}.changelog": b"%d of %d" % (partition, epoch) for partition in (0, 1)}
    return store.save(
        head(epoch, taken_at_ms=TAKEN_AT_MS), fill(folder / str(epoch), {"metadata": b"m", **own, **(more or {})})
    )


def savepoint_file(root: Path, name: str) -> Path:
    """Where it is."""
    return root / path_of(name)
