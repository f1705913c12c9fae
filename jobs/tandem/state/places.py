"""A copy of a job's state to look at: of a snapshot or savepoint, or of what its replicas on this machine hold."""

import os
import re
import shutil
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from tandem.checkpoint.compared import newest_compared
from tandem.checkpoint.relocation import relocate
from tandem.snapshots import SnapshotManifest, SnapshotStore
from tandem.snapshots.errors import IncompleteCheckpointError
from tandem.snapshots.local import pin
from tandem.state.errors import NoStateError
from tandem.state.room import room_for
from tandem.waiting import Deadline, wait_until

_NEVER: Final = sys.maxsize
_PIN_S: Final = 10.0
_COPY: Final = "state-copy"
_INCARNATION: Final = r"\.[^.]+\.[^.]+"
"""What follows a job's name in the name of an incarnation's folder. Of a lane, `job.lane-0`, it is longer."""


@dataclass(frozen=True, slots=True)
class StatePlace:
    """A checkpoint folder of one's own that stands after `epoch`; `at_ms` (wall clock) is when that was.

    `batch` : Spark's number for its last batch, which its files are called by.
    """

    folder: Path
    epoch: int
    at_ms: int
    batch: int


@contextmanager
def saved_state(store: SnapshotStore, snapshot: SnapshotManifest) -> Iterator[StatePlace]:
    """The state of a snapshot, or of a savepoint's snapshot, in a temporary folder.

    Raises what `restore` raises; `TemporaryFolderError`: it has no room there.
    """
    with ExitStack() as stack:
        with room_for(snapshot.size):
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tandem-state-"))
            target = Path(folder) / "checkpoint"
            store.restore(snapshot, target)
            relocate(target)
        yield StatePlace(target, snapshot.epoch, snapshot.taken_at_ms, snapshot.last_batch)


@contextmanager
def live_state(directory: Path, job: str, is_wanted: Callable[[Path], bool] = lambda _: True) -> Iterator[StatePlace]:
    """The newest state that the job's replicas have on this machine, below `directory`: links to it, nothing is copied.

    `is_wanted` : whether the folder of an incarnation counts, e.g. as it is of the job's newest generation. The job goes on
    meanwhile; what it cleans up stays until the end of the block. Raises `NoStateError`.
    """
    own = re.compile(re.escape(job) + _INCARNATION)

    def folders() -> list[Path]:
        found = [*directory.iterdir()] if directory.is_dir() else []
        return [folder / "checkpoint" for folder in found if own.fullmatch(folder.name) and is_wanted(folder)]

    _remove_leftovers(directory)
    copy = directory / f"{_COPY}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
    try:
        place = _linked(directory, folders, copy / "links")
        relocate(place.folder)
        yield place
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _linked(directory: Path, folders: Callable[[], list[Path]], target: Path) -> StatePlace:
    problem = f"there is no state below {directory}: no replica of the job has computed an epoch on this machine"
    found: list[StatePlace] = []

    def linked() -> bool:
        nonlocal problem
        newest = newest_compared(folders(), _NEVER)
        if newest is None:
            return True
        shutil.rmtree(target, ignore_errors=True)
        try:
            copy = pin(newest.folder, newest.position.epoch, target)
            at_ms = (target / "commits" / str(copy.batch)).stat().st_mtime_ns // 1_000_000
            found.append(StatePlace(target, copy.position.epoch, at_ms, copy.batch))
        except (IncompleteCheckpointError, OSError) as error:
            problem = f"the state below {directory} could not be linked within {_PIN_S:.0f} s: {error}"
        return bool(found)

    wait_until(linked, Deadline(_PIN_S), 0.1)
    if not found:
        raise NoStateError(problem)
    return found[0]


def _remove_leftovers(directory: Path) -> None:
    """Links of commands that were killed."""
    for folder in directory.glob(f"{_COPY}-*-*"):
        pid = folder.name.split("-")[2]
        if not (pid.isdigit() and psutil.pid_exists(int(pid))):
            shutil.rmtree(folder, ignore_errors=True)
