"""Checkpoints of the query as folders: what epoch one stands at, and copying one for a new incarnation.

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
from tandem.manifest.spark_settings import RETAINED_EPOCHS

_log = get_logger(__name__)

LOGS = ("offsets", "commits")
"""Spark's folders with one small file per epoch."""
WATERMARKS = "watermarks"
"""A folder of ours with one small file per epoch, written before Spark commits it: what a query with several watermarks
knows of each. A checkpoint of a job with fewer has none, nor has one that an older Tandem wrote."""
ALL_LOGS = (*LOGS, WATERMARKS)
STATE_FILE = re.compile(r"^(\d+)(?:_[\w-]+)?\.(?:changelog|zip|delta|snapshot)$")
"""A version of a state store, or its changes since the version before."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint folder that stands at `position`."""

    folder: Path
    position: EnginePosition


def find_newest(folders: Iterable[Path], last_published: int) -> Checkpoint | None:
    """The newest state among `folders` that is not after the last published epoch."""
    found = [c for folder in folders if (c := _newest(folder, last_published)) is not None]
    return max(found, key=lambda checkpoint: checkpoint.position.epoch, default=None)


def copy_up_to(checkpoint: Checkpoint, target: Path) -> None:
    """Link into `target` all that belongs to epochs up to the checkpoint's.

    Its owner may be cleaning up old versions meanwhile. What vanishes is not needed for an epoch that Spark still retains,
    so only that is asked, afterwards. Raises `FileNotFoundError` if the epoch is not retained any more.
    """
    epoch = checkpoint.position.epoch
    for source in files_of(checkpoint.folder):
        relative = source.relative_to(checkpoint.folder)
        if belongs(relative, epoch):
            destination = target / relative
            destination.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):
                link(source, destination)
    newest = max(_numbers(checkpoint.folder / "commits"), default=-1)
    if newest - epoch > RETAINED_EPOCHS // 2 or not (target / "commits" / str(epoch)).exists():
        raise FileNotFoundError(f"{checkpoint.folder}: epoch {epoch} is not retained any more, the newest is {newest}")


def restore(folders: Iterable[Path], last_published: int, target: Path, tries: int = 5) -> EnginePosition:
    """Start `target` from the newest state among `folders`; returns where it stands (before epoch 0 if there is none)."""
    candidates = [folder for folder in folders if folder != target]
    for _ in range(tries):
        newest = find_newest(candidates, last_published)
        if newest is None:
            break
        try:
            copy_up_to(newest, target)
        except FileNotFoundError as error:
            _log.info("checkpoint_moved_on", folder=str(newest.folder), reason=str(error))
            shutil.rmtree(target, ignore_errors=True)
            continue
        _log.info("checkpoint_restored", folder=str(newest.folder), epoch=newest.position.epoch)
        return newest.position
    target.mkdir(parents=True, exist_ok=True)
    return EnginePosition()


def take_back(folder: Path, epoch: int) -> None:
    """Remove all that belongs to epochs after `epoch` from a checkpoint on which no query runs."""
    if epoch < 0:
        shutil.rmtree(folder, ignore_errors=True)
        return
    for path in files_of(folder):
        if not belongs(path.relative_to(folder), epoch):
            path.unlink(missing_ok=True)


def begin_after(folder: Path, position: EnginePosition) -> None:
    """Make `folder` the checkpoint of a query without any state that has computed the epoch of `position`."""
    contents = {"metadata": json.dumps({"id": str(uuid.uuid4())})}
    for epoch in range(max(0, position.epoch - 1), position.epoch + 1):  # Spark asks for the one before the last, too
        log = {"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}}, {"epoch": epoch, "log": position.log_offset}
        contents[f"offsets/{epoch}"] = "\n".join(["v1", *map(json.dumps, log)])
        contents[f"commits/{epoch}"] = "\n".join(["v1", json.dumps({"nextBatchWatermarkMs": 0})])
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def _newest(folder: Path, last_published: int) -> Checkpoint | None:
    committed = _numbers(folder / "commits") & _numbers(folder / "offsets")
    usable = [epoch for epoch in committed if epoch <= last_published]
    if not usable:
        return None
    epoch = max(usable)
    try:
        lines = (folder / "offsets" / str(epoch)).read_text().splitlines()
        offset = json.loads(lines[-1])
        return Checkpoint(folder, EnginePosition(int(offset["epoch"]), int(offset["log"])))
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        _log.warning("checkpoint_unusable", folder=str(folder), reason=repr(error))
        return None


def _numbers(folder: Path) -> set[int]:
    try:
        return {int(path.name) for path in folder.iterdir() if path.name.isdigit()}
    except FileNotFoundError:
        return set()


def belongs(relative: PurePath, epoch: int) -> bool:
    """Whether a file is of an epoch up to `epoch`. State version v is the state after epoch v - 1."""
    if relative.parts[0] in ALL_LOGS:
        return relative.name.isdigit() and int(relative.name) <= epoch
    if relative.parts[0] == "state" and (match := STATE_FILE.match(relative.name)):
        return int(match.group(1)) <= epoch + 1
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
