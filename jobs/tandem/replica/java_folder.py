"""The folder for temporary files of an incarnation's JVM: libraries that it loads, sockets of its workers.

A JVM that is killed cannot remove them, so its successors do; see `leftovers`. They are not in memory: where that is mounted
without the right to execute, no library can be loaded from it. The path is short, since that of a socket has to be.
"""

import hashlib
import os
import stat
from pathlib import Path
from typing import Final

from tandem.process.info import RefusedError

_BASE: Final = Path("/tmp")  # noqa: S108 - where a JVM has them by default, whatever TMPDIR says


def java_folder(incarnation: str, base: Path = _BASE) -> Path:
    """The folder of `incarnation`, in one that only this user can write, which is made. That of others has another name.

    Raises `RefusedError`: somebody else made the user's folder, or it cannot be made.
    """
    parent = _parent(base)
    try:
        parent.mkdir(mode=0o700, exist_ok=True)
        found = parent.lstat()
    except OSError as error:
        raise RefusedError(f"{parent}, for temporary files of the JVM, cannot be made: {error.strerror}") from error
    if not _is_own(found):
        raise RefusedError(
            f"{parent}, for temporary files of the JVM, is not a folder that only this user can write: others could have "
            "the JVM load a library of theirs. Remove it"
        )
    return parent / f"{hashlib.sha256(incarnation.encode()).hexdigest()[:12]}.jvm"


def java_folders(base: Path = _BASE) -> Path | None:
    """Where those of this user's incarnations are, of all jobs; None: nowhere, or where others can write."""
    parent = _parent(base)
    try:
        return parent if _is_own(parent.lstat()) else None
    except OSError:
        return None


def _parent(base: Path) -> Path:
    return base / f"tandem-java-{os.getuid()}"


def _is_own(found: os.stat_result) -> bool:
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
