"""A checkpoint folder that nobody computes in: it begins as a copy of a base and is brought forward delta by delta."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from tandem.checkpoint.folders import ALL_LOGS, STATE_FILE, VERSIONED, Checkpoint, files_of, link, position_in
from tandem.checkpoint.position import EnginePosition
from tandem.shipping.errors import DeltaError, DeltaGapError
from tandem.shipping.files import CHANGES, changes_in, check_files, renumbered, stores_of
from tandem.shipping.values import Delta, DeltaFile
from tandem.snapshots.selection import KEPT_LOGS

_MOST_STEPS: Final = 1_000


@dataclass(frozen=True, slots=True)
class _Step:
    """A batch that a state has taken in: the epochs after `after` up to `epoch`, under its own number."""

    after: int
    epoch: int
    number: int


class FollowedState:
    """The state after `position.epoch`, complete at any time: a batch counts when its entry in `commits` is there.

    It numbers batches on its own, from its base on: replicas whose barriers differ give the same number to other batches.

    Not thread-safe. Raises `UnknownStateError` if the state in the base's folder is of a format that cannot be followed.

    Parameters
    ----------
    base : its folder belongs to this object.
    """

    def __init__(self, base: Checkpoint) -> None:
        self.folder = base.folder
        self.position = base.position
        self.batch = base.batch
        self.epochs_a_batch = base.epochs
        """How many epochs a batch has had at most; 1 where batches are epochs."""
        self._steps: deque[_Step] = deque(maxlen=_MOST_STEPS)
        paths = [PurePosixPath(path.relative_to(self.folder)) for path in files_of(self.folder)]
        self._stores = stores_of(paths)
        self.chain = longest_chain(paths)
        self.size = sum((self.folder / path).stat().st_size for path in paths)
        """In bytes; files that are pruned later count on."""

    def apply(self, delta: Delta) -> None:
        """Bring the state to the delta's epoch. Raises `DeltaGapError`, `DeltaError`; then nothing has changed."""
        if delta.left_out:
            raise DeltaGapError(f"epoch {delta.epoch} was not shipped: {delta.left_out}")
        if not delta.continues(self.position.epoch):
            since = f"what came after epoch {delta.after} up to " if delta.batch is not None else ""
            raise DeltaGapError(f"{since}epoch {delta.epoch} does not follow epoch {self.position.epoch}")
        check_files(delta.number, delta.files, self._stores)
        position, number = _position(delta), self.batch + 1
        files = [renumbered(file, delta.number, number) for file in delta.files]
        commit = f"commits/{number}"
        for file in sorted(files, key=lambda file: file.path == commit):
            self._write(file)
        self.size += delta.size
        self._take_in(_Step(self.position.epoch, position.epoch, number))
        self.position = position
        self._prune_logs()

    def carry_over(self, earlier: FollowedState) -> None:
        """Go on to where `earlier`, an older base with more deltas, had come, as far as it has their files."""
        steps = earlier._steps_after(self)
        if earlier._stores != self._stores or not steps:
            return
        links: dict[PurePosixPath, PurePosixPath] = {}
        for number, step in enumerate(steps, self.batch + 1):
            for store in sorted(self._stores):
                path = changes_in(earlier.folder, store, step.number)
                if path is None:
                    return
                links[path.with_name(f"{number + 1}{path.suffix}")] = path
        # Logs of older batches were pruned; they are not needed.
        for back in range(min(KEPT_LOGS, len(steps))):
            for log in ALL_LOGS:
                links[PurePosixPath(log, str(self.batch + len(steps) - back))] = PurePosixPath(
                    log, str(steps[-1 - back].number)
                )
        for path, source in links.items():
            if not (self.folder / path).exists() and (earlier.folder / source).exists():
                (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                link(earlier.folder / source, self.folder / path)
                self.size += (self.folder / path).stat().st_size
        for number, step in enumerate(steps, self.batch + 1):
            self._take_in(_Step(step.after, step.epoch, number))
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

    def _take_in(self, step: _Step) -> None:
        self._steps.append(step)
        self.batch = step.number
        self.epochs_a_batch = max(self.epochs_a_batch, step.epoch - step.after)
        self.chain += 1

    def _steps_after(self, other: FollowedState) -> list[_Step]:
        """The batches that bring `other`, of an epoch before this one's, to here; none if they are not known."""
        if self.position.epoch == self.batch and other.position.epoch == other.batch:  # each batch has been an epoch
            return [_Step(epoch - 1, epoch, epoch) for epoch in range(other.batch + 1, self.batch + 1)]
        later = [step for step in self._steps if step.epoch > other.position.epoch]
        return later if later and later[0].after <= other.position.epoch else []

    def _prune_logs(self) -> None:
        for folder in (self.folder / log for log in ALL_LOGS):
            for path in folder.iterdir() if folder.exists() else ():
                if path.name.isdigit() and int(path.name) <= self.batch - KEPT_LOGS:
                    path.unlink()


def _position(delta: Delta) -> EnginePosition:
    offsets = next(file.content for file in delta.files if file.path == f"offsets/{delta.number}")
    try:
        position = position_in(offsets)
    except ValueError as error:
        raise DeltaError(str(error)) from error
    if position.epoch != delta.epoch:
        raise DeltaError(f"it is of epoch {delta.epoch}, but its entry in offsets says {position.epoch}")
    return position


def longest_chain(paths: Iterable[PurePosixPath]) -> int:
    """How many files of changes the state store with the most of them has."""
    counts: dict[PurePosixPath, int] = {}
    for path in paths:
        if path.parts[0] in VERSIONED and path.suffix in CHANGES and STATE_FILE.match(path.name):
            counts[path.parent] = counts.get(path.parent, 0) + 1
    return max(counts.values(), default=0)
