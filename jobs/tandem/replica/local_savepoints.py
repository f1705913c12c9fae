"""Savepoints of a job that has no snapshot store: each in a folder of its own beside the checkpoints of this machine."""

from collections.abc import Collection
from pathlib import Path

from tandem.snapshots import Savepoints, SnapshotStore, savepoint_path

LINEAGE = "lineage"
"""The file in an incarnation's folder that says what its state comes from: `Config.lineage`."""
_SAVEPOINTS = "savepoints"


def local_savepoints(directory: Path, name: str) -> Savepoints:
    """Where the savepoint `name` is, or may be made, below the checkpoint directory of a job."""
    return Savepoints(SnapshotStore(str(directory / _SAVEPOINTS / name)))


def is_local(directory: Path, name: str) -> bool:
    """Whether there is a savepoint of that name, and not what is left of one that could not be finished."""
    return (directory / _SAVEPOINTS / name / savepoint_path(name)).is_file()


def checkpoints_of(directory: Path, lineages: Collection[str]) -> list[Path]:
    """The checkpoints of these lineages on this machine."""
    folders = sorted(directory.iterdir()) if directory.is_dir() else []
    return [folder / "checkpoint" for folder in folders if lineage_of(folder) in lineages]


def lineage_of(folder: Path) -> str | None:
    """What the state in an incarnation's folder comes from; None if it is no such folder."""
    try:
        return (folder / LINEAGE).read_text()
    except OSError:
        return None
