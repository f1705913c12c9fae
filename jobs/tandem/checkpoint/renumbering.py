"""Giving the batches of a checkpoint other numbers: what the real-time engine left, for the micro-batch engine.

There a batch is an epoch and has its number, so the last batch must have that of the epoch at which the state stands.
Spark's files say nowhere inside which batch they are of; their names do.
"""

from __future__ import annotations

import re
from pathlib import Path

from tandem.checkpoint.folders import ALL_LOGS, STATE_FILE, files_of, find_newest
from tandem.checkpoint.position import EnginePosition

_SCHEMA = re.compile(r"^state/\d+/_metadata/v2/(\d+)$")


def number_by_epoch(checkpoint: Path, after: EnginePosition) -> None:
    """Number the batches of a checkpoint that stands at `after` so that its last one has that number.

    Nothing happens where it has. No query may run on it.
    """
    newest = find_newest([checkpoint], after.epoch)
    if newest is not None and newest.batch != newest.position.epoch:
        renumber(checkpoint, newest.position.epoch - newest.batch)


def renumber(checkpoint: Path, by: int) -> None:
    """Add `by` to the number of every batch."""
    numbered = [(number, path) for path in files_of(checkpoint) if (number := _number(checkpoint, path)) is not None]
    for number, path in sorted(numbered, reverse=by > 0):  # so that none takes the place of one that is still to move
        path.replace(path.with_name(str(number + by) + path.name.removeprefix(str(number))))


def _number(checkpoint: Path, path: Path) -> int | None:
    """By which a file is called."""
    relative = path.relative_to(checkpoint)
    if relative.parts[0] in ALL_LOGS:
        return int(path.name) if path.name.isdigit() else None
    if relative.parts[0] == "state" and (match := STATE_FILE.match(path.name)):
        return int(match[1])
    return int(path.name) if _SCHEMA.match(relative.as_posix()) else None
