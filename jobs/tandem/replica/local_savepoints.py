"""Savepoints of a job that has no snapshot store: each in a folder of its own beside the checkpoints of this machine."""

import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Final

from tandem.logs import get_logger
from tandem.protocol.values import Config
from tandem.snapshots import Savepoints, SnapshotError, SnapshotStore, savepoint_path

_log = get_logger(__name__)

LINEAGE = "lineage"
"""The file in an incarnation's folder that says what its state comes from: `Config.lineage`."""
_SAVEPOINTS = "savepoints"
_CHANGES: Final = re.compile(r"changes-(\d+)-\d+")
_TOPICS: Final = re.compile(r"@[0-9a-f]{16}\Z")


def changes_name(generation: int, epoch: int) -> str:
    """What the savepoint is called that a generation of `--accept-changes` begins with."""
    return f"changes-{generation}-{epoch}"


def local_savepoints(directory: Path, name: str) -> Savepoints:
    """Where the savepoint `name` is, or may be made, below the checkpoint directory of a job."""
    return Savepoints(SnapshotStore(str(directory / _SAVEPOINTS / name)))


def is_local(directory: Path, name: str) -> bool:
    """Whether there is a savepoint of that name, and not what is left of one that could not be finished."""
    return (directory / _SAVEPOINTS / name / savepoint_path(name)).is_file()


def remove_superseded(directory: Path, job: str, accepted: Config) -> None:
    """Remove what earlier generations of `--accept-changes` began with: each is a copy of the whole state.

    `accepted` : the config in force. Its own savepoint stays, and that of a generation that is about to follow. Only what is
    of this job and of its present topics goes: several jobs may have one checkpoint directory.
    """
    for folder in sorted((directory / _SAVEPOINTS).glob("changes-*")):
        named = _CHANGES.fullmatch(folder.name)
        if named is None or int(named[1]) > accepted.generation or folder.name == accepted.savepoint:
            continue
        with suppress(SnapshotError, OSError):
            snapshot = local_savepoints(directory, folder.name).get(folder.name).snapshot
            if snapshot.job == job and _topics_of(snapshot.config_digest) == _topics_of(accepted.lineage) != "":
                # First: what names them is there for another try, should this one be killed, which finds them gone.
                rmtree(folder / "objects", ignore_errors=True)
                rmtree(folder)
                _log.info("superseded_savepoint_removed", savepoint=folder.name, bytes=snapshot.size)


def _topics_of(lineage: str) -> str:
    """What tells the topics of a lineage from others, see `Config.lineage`; "": an earlier Tandem has not noted them."""
    found = _TOPICS.search(lineage)
    return found[0] if found else ""


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
