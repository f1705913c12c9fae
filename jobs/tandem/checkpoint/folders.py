"""Checkpoints of the query as folders: what epoch one stands at, and copying one for a new incarnation.

Spark numbers the files of a checkpoint by *batch*. A micro-batch is an epoch, and has its number. A batch of the real-time
engine has all epochs since the last barrier, of which the last, the barrier, is the one that the checkpoint stands at. Its
entry in `offsets` says which that is, for both engines.

Each incarnation has a folder of its own, so that a zombie never writes into its successor's. Spark's files are written
once and renamed into place, so a copy is made of hard links, however large the state.
"""

import json
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

from tandem.checkpoint.position import EnginePosition
from tandem.logs import get_logger
from tandem.manifest.spark_settings import RETAINED_BATCHES

_log = get_logger(__name__)

LOGS = ("offsets", "commits")
"""Spark's folders with one small file per batch."""
WATERMARKS = "watermarks"
"""A folder of ours with one small file per batch, written before Spark commits it: what a query with several watermarks
knows of each. A checkpoint of a job with fewer has none, nor has one that an older Tandem wrote."""
ALL_LOGS = (*LOGS, WATERMARKS)
STATE = "state"
"""Spark's folder of state stores, each a folder with versions."""
TABLES = "tables"
"""A folder of ours of the same kind: a folder with versions for each source that is a table."""
VERSIONED = (STATE, TABLES)
STATE_FILE = re.compile(r"^(\d+)(?:_[\w-]+)?\.(?:changelog|zip|delta|snapshot)$")
"""A version of a state store or a table, or its changes since the version before."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint folder that stands at `position`, behind Spark's batch `batch`."""

    folder: Path
    position: EnginePosition
    batch: int

    @property
    def epochs(self) -> int:
        """How many epochs its last batch has, at least 1: those since the batch before, as far as that is still known."""
        before = EnginePosition() if self.batch == 0 else position_of(self.folder, self.batch - 1)
        return 1 if before is None else max(1, self.position.epoch - before.epoch)


def find_newest(folders: Iterable[Path], last_published: int) -> Checkpoint | None:
    """The newest state among `folders` that is not after the last published epoch."""
    found = [c for folder in folders if (c := _newest(folder, last_published)) is not None]
    return max(found, key=lambda checkpoint: checkpoint.position.epoch, default=None)


def copy_up_to(checkpoint: Checkpoint, target: Path) -> None:
    """Link into `target` all that belongs to batches up to the checkpoint's.

    Its owner may be cleaning up old versions meanwhile. What vanishes is not needed for a batch that Spark still retains,
    so only that is asked, afterwards. Raises `FileNotFoundError` if the batch is not retained any more, or the whole folder
    is being removed.
    """
    batch = checkpoint.batch
    for source in files_of(checkpoint.folder):
        relative = source.relative_to(checkpoint.folder)
        if belongs(relative, batch):
            destination = target / relative
            destination.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                link(source, destination)
    newest = max(_numbers(checkpoint.folder / "commits"), default=-1)
    if newest < batch or newest - batch > RETAINED_BATCHES // 2 or not (target / "commits" / str(batch)).exists():
        raise FileNotFoundError(f"{checkpoint.folder}: batch {batch} is not retained any more, the newest is {newest}")


def take_back(folder: Path, last_epoch: int) -> EnginePosition:
    """Take a checkpoint on which no query runs back to its newest state that is not after `last_epoch`.

    Returns where it stands then: before epoch 0, and there is no folder any more, if it has no such state.
    """
    found = find_newest([folder], last_epoch)
    if found is None:
        shutil.rmtree(folder, ignore_errors=True)
        return EnginePosition()
    for path in files_of(folder):
        if not belongs(path.relative_to(folder), found.batch):
            path.unlink(missing_ok=True)
    return found.position


def begin_after(folder: Path, position: EnginePosition) -> None:
    """Make `folder` the checkpoint of a query without any state that has computed the epoch of `position`.

    Its last batch has the epoch's number, under either engine. It says the position once: see `fit_scans`.
    """
    contents = {"metadata": json.dumps({"id": str(uuid.uuid4())})}
    for batch in range(max(0, position.epoch - 1), position.epoch + 1):  # Spark asks for the one before the last, too
        times = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}})
        contents[f"offsets/{batch}"] = "\n".join(["v1", times, EnginePosition(batch, position.log_offset).text])
        contents[f"commits/{batch}"] = "\n".join(["v1", json.dumps({"nextBatchWatermarkMs": 0})])
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def committed(folder: Path) -> list[int]:
    """The batches that Spark has committed in a checkpoint folder, oldest first; nothing if there is no such folder."""
    return sorted(_numbers(folder / "commits") & _numbers(folder / "offsets"))


def position_of(folder: Path, batch: int) -> EnginePosition | None:
    """Where a checkpoint stands behind a batch: what Spark logged of it. None if that is not there, or not ours."""
    try:
        return position_in((folder / "offsets" / str(batch)).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        _log.warning("checkpoint_unusable", folder=str(folder), batch=batch, reason=repr(error))
        return None


def position_in(entry: bytes) -> EnginePosition:
    """What an entry of `offsets` says: the latest of its positions, one for each scan of the plan.

    A scan that the optimiser leaves out stays where it began, or has none (`-`). Raises `ValueError` if the entry is none
    of ours.
    """
    try:
        offsets = [json.loads(line) for line in entry.splitlines()[2:] if line != b"-"]
        found = [EnginePosition(int(offset["epoch"]), int(offset["log"])) for offset in offsets]
        return max(found, key=lambda position: position.epoch)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"an entry of offsets that says no position: {error!r}") from error


def _newest(folder: Path, last_published: int) -> Checkpoint | None:
    """The newest state in `folder` that is not after the last published epoch."""
    for batch in reversed(committed(folder)):  # later batches have later epochs
        position = position_of(folder, batch)
        if position is None:
            return None
        if position.epoch <= last_published:
            return Checkpoint(folder, position, batch)
    return None


def _numbers(folder: Path) -> set[int]:
    try:
        return {int(path.name) for path in folder.iterdir() if path.name.isdigit()}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def belongs(relative: PurePath, batch: int) -> bool:
    """Whether a file is of a batch up to `batch`. State version v is the state after batch v - 1."""
    if relative.parts[0] in ALL_LOGS:
        return relative.name.isdigit() and int(relative.name) <= batch
    if relative.parts[0] in VERSIONED and (match := STATE_FILE.match(relative.name)):
        return int(match.group(1)) <= batch + 1
    return not relative.name.startswith(".")


def files_of(folder: Path) -> Iterator[Path]:
    """Every file under `folder`; those of a folder come before those of its subfolders."""
    for root, _, names in os.walk(folder):
        for name in sorted(names):
            yield Path(root) / name


def link(source: Path, destination: Path) -> None:
    """A hard link, or a copy if that cannot be. Raises `FileNotFoundError`."""
    try:
        os.link(source, destination)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copy2(source, destination)  # another file system
