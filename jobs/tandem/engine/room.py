"""When the place of a replica's files is full: which place, how large, and what helps, instead of what Spark says of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_SAID: Final = ("No space left on device", "Disk quota exceeded")
_CODES: Final = (errno.ENOSPC, errno.EDQUOT)
_MIB: Final = 2**20


class NoRoomError(Exception):
    """A file could not be written. A restart may help: what is not needed any more is removed then."""


def no_room(error: BaseException, checkpoint: Path) -> NoRoomError | None:
    """What is to be said of `error` if a full disk is behind it; None: it is something else.

    `checkpoint` : the place of the job's checkpoint.
    """
    if not any(_tells(one) for one in _chain(error)):
        return None
    place = next((folder for folder in (checkpoint, *checkpoint.parents) if folder.exists()), Path("/"))
    about = os.statvfs(place)
    size, free = about.f_frsize * about.f_blocks // _MIB, about.f_frsize * about.f_bavail // _MIB
    return NoRoomError(
        f"there was no room left for a file: {_first(error)}. The checkpoint is in {checkpoint}, whose file system has "
        f"{size:,} MiB, {free:,} of them free now; nothing is lost. Give it more room: spec.checkpoint.directory on a "
        "larger disk or, in a pod, where it is in memory, a larger spec.resources.limits.memory and no small sizeLimit of "
        "the volume `checkpoint`; in a container of Docker a larger --shm-size"
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if isinstance(one, BaseException) and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [one.__cause__, one.__context__, getattr(one, "_cause", None)]


def _tells(error: BaseException) -> bool:
    text = f"{error} {getattr(error, '_stackTrace', '')}"
    return getattr(error, "errno", None) in _CODES or any(said in text for said in _SAID)


def _first(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
