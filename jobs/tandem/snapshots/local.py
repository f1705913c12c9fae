"""The local side of a snapshot: linking a checkpoint's files so that they stay, and hashing them once."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tandem.checkpoint.folders import files_of, find_newest, link
from tandem.checkpoint.position import EnginePosition
from tandem.snapshots.errors import IncompleteCheckpointError
from tandem.snapshots.selection import select, shared_files


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file to be saved: its path in the checkpoint, BLAKE2b-256 of its content in hex, bytes."""

    path: str
    hash: str
    size: int


def pin(checkpoint: Path, last_published: int, staging: Path) -> EnginePosition:
    """Link into the new folder `staging` what the newest committed epoch up to `last_published` needs.

    Spark goes on meanwhile, and removes old files; the links keep theirs.

    Raises
    ------
    IncompleteCheckpointError
        No such epoch is committed yet, or its files were removed between looking and linking. Later it may succeed.
    """
    newest = find_newest([checkpoint], last_published)
    if newest is None:
        raise IncompleteCheckpointError(f"{checkpoint}: no epoch up to {last_published} is committed")
    epoch = newest.position.epoch
    selection = select([path.relative_to(checkpoint) for path in files_of(checkpoint)], epoch)
    try:
        for path in selection.files:
            _link(checkpoint, path, staging)
        for archive in selection.archives:
            for path in shared_files(archive, _metadata(staging / archive)):
                _link(checkpoint, path, staging)
    except FileNotFoundError as error:
        raise IncompleteCheckpointError(f"{error.filename} was removed while epoch {epoch} was linked") from error
    return newest.position


class Hasher:
    """Hashes files. Spark never writes into a file again, so one that was hashed for the last snapshot is not read again."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int, int], str] = {}

    def hash_all(self, folder: Path) -> list[LocalFile]:
        """Every file under `folder`."""
        known: dict[tuple[str, int, int, int], str] = {}
        files = []
        for path in files_of(folder):
            relative = path.relative_to(folder).as_posix()
            stat = path.stat()
            key = (relative, stat.st_ino, stat.st_size, stat.st_mtime_ns)
            known[key] = self._known.get(key) or _hash(path)
            files.append(LocalFile(relative, known[key], stat.st_size))
        self._known = known
        return files


def _link(checkpoint: Path, path: PurePosixPath, staging: Path) -> None:
    destination = staging / path
    destination.parent.mkdir(parents=True, exist_ok=True)
    link(checkpoint / path, destination)


def _metadata(archive: Path) -> str:
    try:
        with zipfile.ZipFile(archive) as content:
            return content.read("metadata").decode()
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise IncompleteCheckpointError(f"{archive.name} cannot be read: {error}") from error


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=32)).hexdigest()
