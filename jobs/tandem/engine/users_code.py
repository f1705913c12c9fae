"""The user's own code while it runs: its line in a stack, and what it meets instead of a library's function."""

import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, Final

import py4j
import pyspark

import tandem

_PACKAGES: Final = tuple(
    f"{Path(folder).resolve()}/" for package in (tandem, pyspark, py4j) for folder in package.__path__
)
_TANDEM: Final = f"{Path(tandem.__path__[0]).resolve()}/"
_EXAMPLES: Final = f"{_TANDEM}examples/"
"""Jobs like those of users."""
_STANDARD: Final = f"{Path(sysconfig.get_path('stdlib')).resolve()}/"
_INSTALLED: Final = ("/site-packages/", "/dist-packages/")


def users_line(frame: FrameType | None = None) -> str:
    """`job.py:12`: the innermost line of the user's code in the stack of `frame` (default: the caller's); "" if none is.

    Code in the job's folders counts first, then what else is neither Python's, Spark's nor Tandem's.
    """
    frames = [one for one in _stack(frame or sys._getframe(1)) if is_users_file(one.f_code.co_filename)]
    own = [one for one in frames if not is_installed(one.f_code.co_filename)]
    found = own or frames
    return f"{Path(found[0].f_code.co_filename).name}:{found[0].f_lineno}" if found else ""


def calls_from_users() -> bool:
    """Whether the user's code calls a library's function that Tandem has replaced, and not the library itself."""
    files = (one.f_code.co_filename for one in _stack(sys._getframe(1)))
    return is_users_file(next(file for file in files if file.startswith(_EXAMPLES) or not file.startswith(_TANDEM)))


def line_of_thread(thread_id: int) -> str:
    """As `users_line`, of another thread: what it does now."""
    frame = sys._current_frames().get(thread_id)
    return "" if frame is None else users_line(frame)


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    """A stack, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def is_users_file(file: str) -> bool:
    """Whether a file of code is neither Python's, Spark's nor Tandem's; nor a command, as `bin/tandem` is."""
    path = _of_users(file)
    return path is not None and (is_installed(str(path)) or path.exists())


def is_installed(file: str) -> bool:
    """Whether a file is in a folder of installed packages."""
    return any(folder in file for folder in _INSTALLED)


@cache
def _of_users(file: str) -> Path | None:
    """Where a file is that is the user's if it is there at all. Kept: a look at all modules asks thousands of times,
    and each step of each path is a call of the system."""
    path = Path(file)
    if file.startswith("<") or path.suffix != ".py":
        return None
    path = path.resolve()
    if str(path).startswith(_EXAMPLES):
        return path
    not_users = _PACKAGES if is_installed(str(path)) else (*_PACKAGES, _STANDARD)
    return None if str(path).startswith(not_users) else path


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """While the block runs, an attribute of a class or a module has another value."""
    before = vars(owner)[name]
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
