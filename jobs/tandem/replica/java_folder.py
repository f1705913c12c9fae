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
    parent = java_folders(base)
    try:
        parent.mkdir(mode=0o700, exist_ok=True)
        found = parent.lstat()
    except OSError as error:
        raise RefusedError(f"{parent}, for temporary files of the JVM, cannot be made: {error.strerror}") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise RefusedError(
            f"{parent}, for temporary files of the JVM, is not a folder that only this user can write: others could have "
            "the JVM load a library of theirs. Remove it"
        )
    return parent / f"{hashlib.sha256(incarnation.encode()).hexdigest()[:12]}.jvm"


def java_folders(base: Path = _BASE) -> Path:
    """Where those of this user's incarnations are, of all jobs."""
    return base / f"tandem-java-{os.getuid()}"
