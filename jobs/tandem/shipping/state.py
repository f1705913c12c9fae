"""A checkpoint folder that nobody computes in: it begins as a copy of a base and is brought forward delta by delta."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from tandem.checkpoint.folders import ALL_LOGS, STATE_FILE, files_of, link
from tandem.checkpoint.position import EnginePosition
from tandem.shipping.errors import DeltaError, DeltaGapError
from tandem.shipping.files import CHANGES, check_files, stores_of
from tandem.shipping.values import Delta, DeltaFile
from tandem.snapshots.selection import KEPT_LOGS


class FollowedState:
    """The state after `position.epoch`, complete at any time: an epoch counts when its entry in `commits` is there.

    Not thread-safe. Raises `UnknownStateError` if the state in `folder` is of a format that cannot be followed.

    Parameters
    ----------
    folder : holds the base, and belongs to this object.
    position : where the base stands.
    """

    def __init__(self, folder: Path, position: EnginePosition) -> None:
        self.folder = folder
        self.position = position
        paths = [PurePosixPath(path.relative_to(folder)) for path in files_of(folder)]
        self._stores = stores_of(paths)
        self.chain = longest_chain(paths)
        self.size = sum((folder / path).stat().st_size for path in paths)
        """In bytes; files that are pruned later count on."""

    def apply(self, delta: Delta) -> None:
        """Bring the state to the delta's epoch. Raises `DeltaGapError`, `DeltaError`; then nothing has changed."""
        if delta.left_out:
            raise DeltaGapError(f"epoch {delta.epoch} was not shipped: {delta.left_out}")
        if delta.epoch != self.position.epoch + 1:
            raise DeltaGapError(f"epoch {delta.epoch} does not follow epoch {self.position.epoch}")
        check_files(delta.epoch, delta.files, self._stores)
        position = _position(delta)
        commit = f"commits/{delta.epoch}"
        for file in sorted(delta.files, key=lambda file: file.path == commit):
            self._write(file)
        self.size += delta.size
        self._advanced(position)

    def carry_over(self, earlier: FollowedState) -> None:
        """Go on to where `earlier`, an older base with more deltas, had come, as far as it has their files."""
        if earlier._stores != self._stores:
            return
        changes: list[PurePosixPath] = []
        for epoch in range(self.position.epoch + 1, earlier.position.epoch + 1):
            paths = [_changes_in(earlier.folder, store, epoch) for store in sorted(self._stores)]
            if None in paths:
                return
            changes += [path for path in paths if path is not None]
        # Logs of older epochs were pruned; they are not needed.
        logs = [PurePosixPath(log, str(earlier.position.epoch - back)) for back in range(KEPT_LOGS) for log in ALL_LOGS]
        for path in (*changes, *logs):
            if not (self.folder / path).exists() and (earlier.folder / path).exists():
                (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                link(earlier.folder / path, self.folder / path)
                self.size += (self.folder / path).stat().st_size
        self.chain += max(0, earlier.position.epoch - self.position.epoch)
        if earlier.position.epoch > self.position.epoch:
            self.position = earlier.position

    def copy_to(self, target: Path) -> EnginePosition:
        """Hard links to all files in the new folder `target`; returns where they stand."""
        for source in files_of(self.folder):
            destination = target / source.relative_to(self.folder)
            destination.parent.mkdir(parents=True, exist_ok=True)
            link(source, destination)
        return self.position

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, file: DeltaFile) -> None:
        path = self.folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_bytes(file.content)
        temporary.replace(path)

    def _advanced(self, position: EnginePosition) -> None:
        self.position = position
        self.chain += 1
        for folder in (self.folder / log for log in ALL_LOGS):
            for path in folder.iterdir() if folder.exists() else ():
                if path.name.isdigit() and int(path.name) <= position.epoch - KEPT_LOGS:
                    path.unlink()


def _position(delta: Delta) -> EnginePosition:
    offsets = next(file.content for file in delta.files if file.path == f"offsets/{delta.epoch}")
    return EnginePosition(delta.epoch, _log_offset(offsets))


def _log_offset(offsets: bytes) -> int:
    """Where the epoch's cut is in the ordering topic: the last line of Spark's entry, see `EpochBridge`."""
    try:
        return int(json.loads(offsets.splitlines()[-1])["log"])
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise DeltaError(f"its entry in offsets cannot be understood: {error!r}") from error


def _changes_in(folder: Path, store: PurePosixPath, epoch: int) -> PurePosixPath | None:
    paths = (store / f"{epoch + 1}{suffix}" for suffix in CHANGES)
    return next((path for path in paths if os.path.exists(folder / path)), None)  # noqa: PTH110 - called often


def longest_chain(paths: Iterable[PurePosixPath]) -> int:
    """How many files of changes the state store with the most of them has."""
    counts: dict[PurePosixPath, int] = {}
    for path in paths:
        if path.parts[0] == "state" and path.suffix in CHANGES and STATE_FILE.match(path.name):
            counts[path.parent] = counts.get(path.parent, 0) + 1
    return max(counts.values(), default=0)
