"""Where the job's code is in Spark's Python workers, which are processes of their own: asked for when an epoch lasts."""

import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from pyspark import SparkContext

from tandem.engine.python_daemon import STACKS_VARIABLE
from tandem.engine.users_code import is_users_file
from tandem.waiting import Deadline, wait_until

DAEMON: Final = "tandem.engine.python_daemon"
_PATIENCE_S: Final = 0.5
_TICK_S: Final = 0.01
_MOST: Final = 3
_FRAME = re.compile(r'  File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>.+)')


def keep_in(folder: Path) -> None:
    """Let the workers of the JVM that starts next write their stacks into a file in `folder`."""
    os.environ[STACKS_VARIABLE] = str(folder / "python-stacks")


def places() -> str:
    """`Python worker 4711 waits at job.py:12 in slow.`; "" if none is in the job's code, or if nobody can tell.

    Takes half a second for each worker at most.
    """
    process, path = getattr(SparkContext._gateway, "proc", None), os.environ.get(STACKS_VARIABLE)
    if process is None or path is None or not Path("/proc/self/stat").exists():
        return ""
    found = []
    for worker in _workers(process.pid):
        with suppress(OSError):
            place = place_in(_stack_of(worker, Path(path)))
            if place:
                found.append(f"Python worker {worker} {'computes' if _state(worker) == 'R' else 'waits'} at {place}")
    if not found:
        return ""
    more = f", and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return f"{', '.join(found[:_MOST])}{more}: a call to a service needs a time-out, a loop an end."


def place_in(stack: str) -> str:
    """`job.py:12 in slow`: the innermost line of the user's code in what faulthandler has written; "" if there is none."""
    for frame in _FRAME.finditer(stack):
        if is_users_file(frame["file"]):
            return f"{Path(frame['file']).name}:{frame['line']} in {frame['function']}"
    return ""


def _stack_of(worker: int, file: Path) -> str:
    """What the worker writes of itself now. Raises `OSError` if it has ended."""
    os.truncate(file, 0)
    os.kill(worker, signal.SIGUSR1)
    sizes = [0]

    def is_written() -> bool:
        sizes.append(file.stat().st_size)
        return 0 < sizes[-1] == sizes[-2]

    wait_until(is_written, Deadline(_PATIENCE_S), _TICK_S)
    return file.read_text(errors="replace")


def _workers(jvm: int) -> list[int]:
    """The children of our daemon, itself a child of the JVM: another program would end at the signal."""
    parents = dict(_parents())
    daemons = {pid for pid, parent in parents.items() if parent == jvm and _is_ours(pid)}
    return sorted(pid for pid, parent in parents.items() if parent in daemons and _is_ours(pid))


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                yield int(entry.name), int(_after_name(int(entry.name))[1])


def _is_ours(pid: int) -> bool:
    try:
        return DAEMON in Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return False


def _state(pid: int) -> str:
    return _after_name(pid)[0]


def _after_name(pid: int) -> list[str]:
    """What stands in /proc/<pid>/stat behind the command's name: the state, the parent, … (proc(5))."""
    return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
