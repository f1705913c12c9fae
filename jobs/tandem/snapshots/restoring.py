"""Bringing a snapshot's files to a folder: every byte is checked against its hash, and all of them appear at once."""

import hashlib
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from tandem.checkpoint.folders import link
from tandem.snapshots.errors import SnapshotCorruptError
from tandem.snapshots.parallel import for_each
from tandem.snapshots.remote import Remote
from tandem.snapshots.values import SnapshotFile

_READERS: Final = 8


class Restorer:
    """Restores snapshots from one store, and remembers what it has restored where."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._restored: dict[Path, dict[str, str]] = {}  # folder → path in it → hash

    def restore(self, files: Sequence[SnapshotFile], target: Path, have: Path | None = None) -> None:
        """Bring the files to the folder `target`, which must be absent or empty. It appears whole or not at all.

        Files that the folder `have`, restored by an earlier call, has already are linked from there.

        Raises `SnapshotCorruptError`: a file is missing or is not what was saved; `SnapshotStoreError`: the store is
        away; `FileExistsError`: `target` holds something.
        """
        if target.exists() and any(target.iterdir()):
            raise FileExistsError(f"{target} is not empty: a snapshot is restored into a new folder")
        staging = target.with_name(f".{target.name}.restoring")
        shutil.rmtree(staging, ignore_errors=True)
        try:
            for_each(lambda file: self._bring(file, staging, have), files, _READERS)
            staging.rename(target)
            there = {folder: known for folder, known in list(self._restored.items()) if folder.exists()}
            self._restored = there | {target: {file.path: file.hash for file in files}}
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def _bring(self, file: SnapshotFile, staging: Path, have: Path | None) -> None:
        destination = staging / file.path
        if have is not None and self._restored.get(have, {}).get(file.path) == file.hash:
            with suppress(FileNotFoundError):
                destination.parent.mkdir(parents=True, exist_ok=True)
                link(have / file.path, destination)
                return
        self._fetch(file, destination)

    def _fetch(self, file: SnapshotFile, destination: Path) -> None:
        destination.parent.mkdir(parents=True, exist_ok=True)
        hasher, size = hashlib.blake2b(digest_size=32), 0
        try:
            with destination.open("xb") as output:
                for block in self._remote.blocks(file.object_path, file.size):
                    hasher.update(block)
                    size += len(block)
                    output.write(block)
        except FileNotFoundError as error:
            raise SnapshotCorruptError(file.path, f"{file.object_path} is missing from the store") from error
        if size != file.size:
            raise SnapshotCorruptError(file.path, f"{file.object_path} has {size} bytes instead of {file.size}")
        if hasher.hexdigest() != file.hash:
            raise SnapshotCorruptError(file.path, f"{file.object_path} does not match its hash: it was altered")
