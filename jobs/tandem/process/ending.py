"""How a process of a job ended: what it leaves for its supervisor, on this machine and in Kubernetes.

It is a line of JSON, in the run directory and in the file that Kubernetes shows as a container's termination message.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final

TERMINATION_LOG: Final = Path("/dev/termination-log")
"""Kubernetes' default for `terminationMessagePath`; it is nowhere else."""

_MOST_BYTES: Final = 4_096
"""Of a container's message: Kubernetes cuts off the rest."""
_ACCOUNT: Final = "\n=== Streaming Query ===\n"
_TAIL_BYTES: Final = 8_192
_TAIL_LINES: Final = 15


class EndKind(StrEnum):
    """Why a process ended, as far as a supervisor has to tell apart."""

    DRAINED = "drained"
    """It was asked to leave, and stays down until it is started."""
    STOPPED = "stopped"
    """It got SIGTERM or SIGINT, and stays down until it is started."""
    STEPPED_DOWN = "stepped_down"
    """Another one has its place; a restart stands by."""
    FAILED = "failed"
    """A restart may help."""
    REFUSED = "refused"
    """The manifest, the job or the cluster must be fixed first."""
    LOST_INPUT = "lost_input"
    """Records were deleted that this replica still had to read. Others may have read them: from their state it can go on."""
    UNREACHABLE = "unreachable"
    """A server did not answer: a mistake of the manifest at first, an outage once the job has run."""
    OTHER_JOB = "other_job"
    """The job's log runs another configuration than this process has."""
    CHANGED = "changed"
    """The job's code, or what it reads, is not what the job began with; or the code raised."""
    DIVERGED = "diverged"
    """This replica computed other rows than those that are published."""
    SUPERSEDED = "superseded"
    """A later generation publishes."""
    TOO_LATE = "too_late"
    """Another replica has begun the generation that this one was to begin: a new start joins it."""


ASKED: Final = (EndKind.DRAINED, EndKind.STOPPED)
"""The ends that somebody wanted: a process of exit code 0 that says none of them has been ended by what it runs."""

BY_ITSELF: Final = (
    "nobody had asked it to, and its exit code is 0. If the job's code ends the process, as os._exit(0) does, let it "
    "raise an error, or return"
)
"""Why a process is down that has not said so, and whose exit code says that all is well."""

Kinds = Mapping[type[Exception], EndKind]
"""How processes end that an error of a type, or of one derived from it, has ended."""


def kind_of(error: Exception, kinds: Kinds) -> EndKind:
    """The kind of the nearest type in `kinds`; `FAILED` if there is none."""
    return next((kinds[known] for known in type(error).__mro__ if known in kinds), EndKind.FAILED)


def reason_of(error: Exception) -> str:
    """What an error says; of a query's, without Spark's account of where the query stood. Raises nothing.

    An error of Java asks its JVM for its words, which may have ended.
    """
    try:
        return str(error).partition(_ACCOUNT)[0].rstrip()
    except Exception as trouble:
        first = next((one for one in error.args if isinstance(one, str)), "")
        return f"{first or type(error).__name__} (its words are not known: {trouble!r})"


@dataclass(frozen=True, slots=True)
class End:
    """The end of a process.

    `reason` : what happened, and what to do, in words. `error`: Python's name of the error, for people.
    `epoch` : in which it happened; None: in none. `came_up`: whether the process ever did what it is there for.
    """

    kind: EndKind
    reason: str = ""
    error: str = ""
    epoch: int | None = None
    came_up: bool = False
    pid: int = 0

    @staticmethod
    def of(error: Exception, kinds: Kinds, came_up: bool) -> End:
        """The end of this process by `error`."""
        epoch = getattr(error, "epoch", None)
        known = epoch if isinstance(epoch, int) else None
        return End(kind_of(error, kinds), reason_of(error), type(error).__name__, known, came_up, os.getpid())

    @staticmethod
    def decode(text: str) -> End | None:
        """The inverse of `encode`; None if `text` is something else, as the words of a process that was killed."""
        try:
            tree = json.loads(text)
            return End(**{**tree, "kind": EndKind(tree["kind"])})
        except (ValueError, TypeError, KeyError):
            return None

    @staticmethod
    def read(run_directory: Path, name: str) -> End | None:
        """How the last run of a process ended, if it could say so."""
        try:
            return End.decode(_file(run_directory, name).read_text())
        except OSError:
            return None

    def encode(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    def leave(self, run_directory: Path | None, name: str) -> None:
        """Write it where supervisors look. What cannot be written is in the log as well."""
        with suppress(OSError):
            if TERMINATION_LOG.exists():
                TERMINATION_LOG.write_text(self._fitting(_MOST_BYTES).encode())
        if run_directory is not None:
            with suppress(OSError):
                run_directory.mkdir(parents=True, exist_ok=True)
                temporary = _file(run_directory, name).with_suffix(".tmp")
                temporary.write_text(self.encode())
                temporary.replace(_file(run_directory, name))

    def _fitting(self, most_bytes: int) -> End:
        """The same with as much of the reason as makes a whole line of JSON."""
        end = self
        while end.reason and len(end.encode().encode()) > most_bytes:
            end = replace(end, reason=end.reason[: len(end.reason) * 7 // 8])
        return end


def last_words(log_file: Path, start: int) -> str:
    """The last lines that a run wrote from byte `start` of its log on: of one that ended before it could say why."""
    try:
        with log_file.open("rb") as file:
            file.seek(max(start, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-_TAIL_LINES:]).strip()
    except OSError:
        return ""


def _file(run_directory: Path, name: str) -> Path:
    return run_directory / f"{name}.end.json"
