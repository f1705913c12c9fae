"""The run directory: where a job's processes leave their logs, and where other commands find the job."""

from __future__ import annotations

import fcntl
import json
import os
import re
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

from tandem.local import sessions
from tandem.local.errors import AlreadyRunningError, RunDirectoryError
from tandem.manifest import Manifest, load
from tandem.process.info import ProcessInfo
from tandem.waiting import Deadline, wait_until

_LOCK = "supervisor.lock"
_JOB = "job.json"
_REQUESTS = "start"
_LOCK_DEADLINE_S = 0.5


@dataclass(frozen=True, slots=True)
class ProcessState:
    """A process of the job as its supervisor sees it.

    `state`: `running`, `paused`, `restarting` (waits for its next start), `down` (stays down: it was stopped, or is
    being held), or `given up`; `reason` says why it ended, `end` of which kind that is (`ending.EndKind`).
    `started_at`: Unix time, s, of its latest start. `manifest`: the path of the one that it runs, or ran last.
    """

    name: str
    kind: str
    state: str = "down"
    pid: int = 0
    restarts: int = 0
    started_at: float = 0.0
    exit_code: int | None = None
    reason: str = ""
    end: str = ""
    manifest: str = ""

    @property
    def running(self) -> bool:
        """Whether there is a process; a paused one counts."""
        return self.state in ("running", "paused")

    def looked_at(self) -> ProcessState:
        """The same with `paused` or `running` as the operating system sees it now."""
        if not self.running:
            return self
        return replace(self, state="paused" if sessions.is_stopped(self.pid) else "running")


@dataclass(frozen=True, slots=True)
class RunningJob:
    """What a supervisor says of its job, or of one `lane` of it, to other commands."""

    job: str
    manifest: Path
    pid: int
    started_at: float
    processes: tuple[ProcessState, ...] = ()
    lane: int | None = None

    @staticmethod
    def from_json(tree: Mapping[str, Any]) -> RunningJob:
        """The inverse of `to_json`."""
        processes = tuple(ProcessState(**process) for process in tree["processes"])
        return RunningJob(
            tree["job"], Path(tree["manifest"]), tree["pid"], tree["started_at"], processes, tree.get("lane")
        )

    def loaded(self) -> Manifest:
        """The job's manifest, or its lane's. Raises `ManifestError`, `OSError`."""
        return load(self.manifest, self.lane)

    def to_json(self) -> dict[str, Any]:
        """As values of JSON."""
        return asdict(self) | {"manifest": str(self.manifest)}


@dataclass(frozen=True, slots=True)
class StartRequest:
    """Start `process`; from now on with the command line `argv`, if there is one. `on_trial`: see `restarts.Ending`.

    `manifest`: the path of the one that the job runs from now on, if it is another.
    """

    process: str
    argv: tuple[str, ...] = ()
    on_trial: bool = False
    manifest: str = ""

    @staticmethod
    def from_json(tree: Mapping[str, Any]) -> StartRequest:
        """The inverse of `asdict`."""
        return StartRequest(tree["process"], tuple(tree["argv"]), tree["on_trial"], tree["manifest"])


def default_root() -> Path:
    """The folder of all run directories: `$XDG_RUNTIME_DIR/tandem`, else `tandem` in the folder of temporary files."""
    return Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / "tandem"


def default_run_directory(job: str) -> Path:
    """The run directory of a job that was given none."""
    return default_root() / job


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """A folder that at most one supervisor holds at a time."""

    path: Path

    def log_file(self, process: str) -> Path:
        """Where the output of a process goes; that of the run before is beside it, with `.old` added."""
        return self.path / f"{process}.log"

    def acquire(self) -> IO[str]:
        """Become the folder's supervisor until the returned file is closed (or this process ends).

        Raises `AlreadyRunningError`, `RunDirectoryError`.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / _LOCK).open("w")
        except OSError as error:
            raise RunDirectoryError(
                f"cannot write into the run directory {self.path}: {error.strerror}. Give another with --run-directory"
            ) from error
        # Another command that only looks holds the lock for an instant.
        if not wait_until(lambda: _locks(lock, fcntl.LOCK_EX), Deadline(_LOCK_DEADLINE_S)):
            lock.close()
            raise AlreadyRunningError(self._held_by())
        self._tidy()
        return lock

    def announce(self, job: RunningJob) -> None:
        """Tell other commands how the job stands."""
        temporary = self.path / f"{_JOB}.tmp"
        temporary.write_text(json.dumps(job.to_json(), indent=1))
        temporary.replace(self.path / _JOB)

    def withdraw(self) -> None:
        """The job has stopped."""
        (self.path / _JOB).unlink(missing_ok=True)

    def read(self) -> RunningJob | None:
        """The job whose supervisor holds this folder; None if none does."""
        if not self._is_held():
            return None
        try:
            return RunningJob.from_json(json.loads((self.path / _JOB).read_text()))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def ask_to_start(self, request: StartRequest) -> None:
        """Ask the supervisor to start a process that stays down."""
        requests = self.path / _REQUESTS
        requests.mkdir(exist_ok=True)
        temporary = self.path / f"{request.process}.start.{os.getpid()}.tmp"
        temporary.write_text(json.dumps(asdict(request)))
        temporary.replace(requests / request.process)

    def take_requests(self) -> list[StartRequest]:
        """What somebody asked for since the last call. What cannot be read is removed, and asks for nothing."""
        try:
            names = os.listdir(self.path / _REQUESTS)  # noqa: PTH208, it is called fifty times a second
        except OSError:
            return []
        found = []
        for path in (self.path / _REQUESTS / name for name in names):
            with suppress(OSError, ValueError, KeyError, TypeError):
                found.append(StartRequest.from_json(json.loads(path.read_text())))
            path.unlink(missing_ok=True)
        return found

    def announced(self) -> dict[str, ProcessInfo]:
        """What the processes wrote about themselves, by name, whether or not they still run."""
        try:
            return {info.name: info for info in ProcessInfo.read_all(self.path)}
        except (OSError, ValueError, TypeError):  # one is being written or removed just now
            return {}

    def _is_held(self) -> bool:
        try:
            with (self.path / _LOCK).open() as lock:
                return not _locks(lock, fcntl.LOCK_SH)
        except OSError:
            return False

    def _held_by(self) -> str:
        running = self.read()
        who = "another job runs" if running is None else f"{running.job} runs already (pid {running.pid})"
        return f"{who} in {self.path}. Stop it first, or give this run another folder with --run-directory"

    def _tidy(self) -> None:
        """Remove what an earlier supervisor left behind, and put its logs aside."""
        self.take_requests()
        for left in (*self.path.glob("*.process.json"), *self.path.glob("*.end.json"), self.path / _JOB):
            left.unlink(missing_ok=True)
        for log in self.path.glob("*.log"):
            if re.fullmatch(r"(replica|orderer|generator)-[0-9]+", log.stem):
                log.replace(log.with_name(f"{log.name}.old"))


def _locks(file: IO[str], mode: int) -> bool:
    try:
        fcntl.flock(file, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
