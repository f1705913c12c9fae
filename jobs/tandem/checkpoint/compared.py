"""Up to which epoch the state of an incarnation counts for others: what it has compared with what is published.

Its query is ahead of that, and the state of a replica that has gone wrong looks like any other. So an incarnation notes in
its folder, beside its checkpoint, the last epoch whose marker it has read and whose rows are its own. From what is newer
nobody goes on. A note that is older than the state costs an epoch that is computed again.
"""

import os
import shutil
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

from tandem.checkpoint.folders import Checkpoint, copy_up_to, find_newest
from tandem.checkpoint.position import EnginePosition
from tandem.logs import get_logger

_log = get_logger(__name__)

NOTE = "compared"
"""The file in an incarnation's folder."""
_EPOCH = struct.Struct("<q")  # one aligned word, which a reader sees whole


class ComparedEpochs:
    """The note of one incarnation, in its `folder`. It begins with no epoch at all."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / NOTE).open("wb", buffering=0)
        self.epoch = -1
        """The last one that counts."""
        self.up_to(-1)

    def up_to(self, epoch: int) -> None:
        """The state counts up to `epoch` from now on. A few µs; raises `OSError`."""
        self.epoch = epoch
        os.pwrite(self._file.fileno(), _EPOCH.pack(epoch), 0)

    def close(self) -> None:
        """Nothing is noted any more."""
        self._file.close()


def compared_epoch(checkpoint: Path) -> int:
    """Up to which epoch a checkpoint of an incarnation counts. One of an older Tandem, without a note, does in any case."""
    try:
        return int(_EPOCH.unpack((checkpoint.parent / NOTE).read_bytes())[0])
    except FileNotFoundError:
        return sys.maxsize
    except (OSError, struct.error):
        return -1


def newest_compared(checkpoints: Iterable[Path], last_published: int) -> Checkpoint | None:
    """The newest state among `checkpoints` of incarnations that counts, and is not after the last published epoch."""
    found = (find_newest([folder], min(last_published, compared_epoch(folder))) for folder in checkpoints)
    return max(filter(None, found), key=lambda checkpoint: checkpoint.position.epoch, default=None)


def restore(checkpoints: Iterable[Path], last_published: int, target: Path, tries: int = 5) -> EnginePosition:
    """Start `target` from the newest state of `checkpoints` that counts; returns where it stands (before epoch 0: none)."""
    candidates = [folder for folder in checkpoints if folder != target]
    for _ in range(tries):
        newest = newest_compared(candidates, last_published)
        if newest is None:
            break
        try:
            copy_up_to(newest, target)
        except FileNotFoundError as error:
            _log.info("checkpoint_moved_on", folder=str(newest.folder), reason=str(error))
            shutil.rmtree(target, ignore_errors=True)
            continue
        _log.info("checkpoint_restored", folder=str(newest.folder), epoch=newest.position.epoch, batch=newest.batch)
        return newest.position
    target.mkdir(parents=True, exist_ok=True)
    return EnginePosition()
