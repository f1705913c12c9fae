"""What every process of a job has in common: exit codes, stop signals, its file in the run directory, the seed of hashes."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import Final

HASH_SEED = "0"

STOPS: Final = (signal.SIGTERM, signal.SIGINT)
"""Signals by which a process is asked to end."""


def begin_with_hash_seed() -> None:
    """Start this process again unless it has the seed, which Python reads when it starts. Spark's workers inherit it."""
    if os.environ.get("PYTHONHASHSEED") != HASH_SEED:
        os.environ["PYTHONHASHSEED"] = HASH_SEED
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606


_SUFFIX = ".process.json"


class ExitCode(IntEnum):
    """How a process of a job ended. A supervisor restarts after `FAILED` and after signals.

    It never does after the others; after `OK` only if the process has not said that it was asked to end.
    """

    OK = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 78  # EX_CONFIG of sysexits.h: the manifest, the job or the cluster must be fixed first


class RefusedError(Exception):
    """The process must not run, and a restart would not help."""


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A running process of a job. `metrics_port` 0: it serves no metrics. `incarnation` is a replica's transactional id.

    `came_up` : it does what it is there for, or has done so.
    """

    name: str
    kind: str
    pid: int
    metrics_port: int
    incarnation: str = ""
    came_up: bool = False

    @staticmethod
    def read(run_directory: Path, name: str) -> ProcessInfo | None:
        """What the last run of a process wrote there, if it did not end well; None: nothing."""
        try:
            return ProcessInfo(**json.loads((run_directory / f"{name}{_SUFFIX}").read_text()))
        except (OSError, ValueError, TypeError):  # it is being written or removed just now
            return None

    @staticmethod
    def read_all(run_directory: Path) -> list[ProcessInfo]:
        """The processes that wrote a file there, by name, whether or not they still run."""
        return [ProcessInfo(**json.loads(path.read_text())) for path in sorted(run_directory.glob(f"*{_SUFFIX}"))]

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    @contextmanager
    def announced(self, run_directory: Path | None) -> Iterator[None]:
        """Keep a file in `run_directory` while the block runs."""
        if run_directory is None:
            yield
            return
        self.write(run_directory)
        try:
            yield
        finally:
            (run_directory / f"{self.name}{_SUFFIX}").unlink(missing_ok=True)

    def write(self, run_directory: Path) -> None:
        """Write or replace the file in `run_directory`."""
        run_directory.mkdir(parents=True, exist_ok=True)
        path = run_directory / f"{self.name}{_SUFFIX}"
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(asdict(self)))
        temporary.replace(path)


def stop_on_signals(
    started: threading.Event | None = None, at_once: Callable[[], int] = lambda: ExitCode.OK
) -> threading.Event:
    """An event that SIGTERM and SIGINT set. Before `started` is set there is nothing to finish: they end the process.

    `at_once`: says then that it ends, and what it exits with.
    """
    stopping = threading.Event()

    def handle(_signal: int, _frame: FrameType | None) -> None:
        if started is not None and not started.is_set():
            os._exit(at_once())
        stopping.set()

    for number in STOPS:
        signal.signal(number, handle)
    return stopping


@contextmanager
def kept_handlers() -> Iterator[None]:
    """What the block does with the handlers of SIGTERM and SIGINT does not last: SparkContext, for one, has its own."""
    before = {number: signal.getsignal(number) for number in STOPS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
