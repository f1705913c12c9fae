"""What incarnations leave behind on this machine, however they ended: removed, but never of one that is alive.

Everything in an incarnation's folder but its checkpoint is of the moment: an epoch's records and rows, Spark's scratch
files. A process that is killed cannot remove them, so its successors do. Whether an incarnation lives, its lock says: the
kernel lets go of it when the process ends.
"""

import fcntl
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tandem.checkpoint.compared import NOTE, newest_compared
from tandem.logs import get_logger
from tandem.waiting import Deadline, wait_until

_log = get_logger(__name__)

LASTING = frozenset({"checkpoint", "lineage", "lock", NOTE})
_LOCK = "lock"
_LOCK_S = 5.0
_NOBODY = "/"
"""No replica is called that: other folders beside those of incarnations have no replica in their names, and no lock."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@contextmanager
def alive(folder: Path) -> Iterator[None]:
    """While the block runs, the incarnation of `folder` counts as alive. Makes the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o644)
    try:
        wait_until(lambda: _has_locked(lock), Deadline(_LOCK_S))  # who looks holds it for an instant
        os.write(lock, _kernel())
        yield
    finally:
        os.close(lock)


def _has_locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks: then nobody can lock it, and nothing here is removed
    return True


def is_locked(folder: Path) -> bool:
    """Whether the incarnation of `folder` lives, or may live. One without a lock is of an earlier version, or is none."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def is_dead(folder: Path, replica: str) -> bool:
    """Whether the incarnation of `folder` has ended, for certain.

    A lock says so if it was taken on this machine: a volume may be shared with others, without their locks. One of `replica`
    is dead in any case if nobody holds its lock: there is no other of that name.
    """
    if is_locked(folder):
        return False
    try:
        return replica_of(folder) == replica or (folder / _LOCK).read_bytes() == _kernel()
    except OSError:
        return False


def replica_of(folder: Path) -> str:
    """Job and replica of an incarnation's folder."""
    return folder.name.rpartition(".")[0]


def _kernel() -> bytes:
    """What tells this machine from others, the same in all its containers where it runs Linux."""
    try:
        return _BOOT_ID.read_bytes()
    except OSError:
        return os.uname().nodename.encode()


def remove_of_the_dead(folder: Path) -> int:
    """Remove what the dead among the siblings of `folder` left that is of the moment; bytes that this freed.

    One that has no epoch in its checkpoint goes whole.
    """
    return _remove_of_the_dead(folder.parent, siblings(folder), replica_of(folder))


def remove_of_all_dead(parent: Path) -> int:
    """The same of all incarnations in the folder `parent`, for a process that is none of them, when they have ended."""
    there = [folder for folder in parent.iterdir() if folder.is_dir()] if parent.is_dir() else []
    return _remove_of_the_dead(parent, there, _NOBODY)


def _remove_of_the_dead(parent: Path, folders: Iterable[Path], replica: str) -> int:
    freed = 0
    for folder in folders:
        if is_dead(folder, replica):
            freed += remove_of_the_moment(folder)
            if not _has_epochs(folder):
                shutil.rmtree(folder, ignore_errors=True)
    if freed:
        _log.info("leftovers_removed", folder=str(parent), bytes=freed)
    return freed


def remove_of_the_moment(folder: Path) -> int:
    """Remove all but an incarnation's checkpoint; bytes that this freed."""
    freed = 0
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            if path.name in LASTING:
                continue
            freed += _size(path)
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    return freed


def remove_predecessors(folder: Path) -> None:
    """The incarnation of `folder` has restored its state: nobody needs those of its replica's earlier ones beside it."""
    for sibling in siblings(folder):
        if replica_of(sibling) == replica_of(folder) and not is_locked(sibling):
            shutil.rmtree(sibling, ignore_errors=True)


def siblings(folder: Path) -> list[Path]:
    """The folders of other incarnations beside `folder`."""
    return [sibling for sibling in folder.parent.iterdir() if sibling.is_dir() and sibling != folder]


def newest_epoch(folder: Path) -> int:
    """The newest epoch of an incarnation from whose state others may go on; −1: none."""
    newest = newest_compared([folder / "checkpoint"], sys.maxsize)
    return -1 if newest is None else newest.position.epoch


def _has_epochs(folder: Path) -> bool:
    with suppress(OSError):
        return any(path.name.isdigit() for path in (folder / "checkpoint" / "commits").iterdir())
    return False


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [Path(root, name) for root, _, names in os.walk(path) for name in names]
    size = 0
    for file in files:
        with suppress(OSError):
            size += file.lstat().st_size
    return size
