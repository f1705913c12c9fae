"""What the commands about saved state have in common: reaching the snapshot store, and saying what went wrong."""

import hashlib
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, TextIO

import typer
from confluent_kafka import KafkaException
from rich.console import Console

from tandem import logs
from tandem.cli.validate import show_problems
from tandem.kafka.errors import TandemKafkaError
from tandem.manifest import Manifest, ManifestError, SecretError, UnknownLaneError
from tandem.process.errors import EmbeddedError, StateError
from tandem.process.info import ExitCode
from tandem.snapshots import SnapshotError, SnapshotStore, SnapshotStoreError
from tandem.status.page import PIPE_WIDTH

SavepointName = Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits, dots, dashes and underscores.")]


class NoStoreError(SnapshotError):
    """The manifest names no snapshot store."""


_TO_BE_FIXED: Final = (
    TandemKafkaError,
    KafkaException,
    SecretError,
    EmbeddedError,
    UnknownLaneError,
    SnapshotStoreError,
    NoStoreError,
)
"""The manifest, Kafka or the store: a process would refuse to start as well."""


class Screen:
    """Output, and a stream for messages and progress, which stays when the process' error stream is turned away."""

    def __init__(self) -> None:
        logs.configure("WARNING")
        plain = {"soft_wrap": True, "highlight": False, "markup": False, "emoji": False}
        self.out = Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, **plain)  # type: ignore[arg-type]
        self.errors = Console(file=_error_stream(), **plain)  # type: ignore[arg-type]

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Show on a terminal what takes a while."""
        if not self.errors.is_terminal:
            yield
            return
        with self.errors.status(what):
            yield

    @contextmanager
    def telling(self, doing: str, manifest: Path) -> Iterator[None]:
        """Leave with one message, and the exit code that fits, for all that can be expected to go wrong."""
        try:
            yield
        except ManifestError as error:
            show_problems(self.out, manifest, error.problems)
            raise typer.Exit(ExitCode.REFUSED) from error
        except _TO_BE_FIXED as error:
            self.errors.print(f"{doing}: {error}", style="red")
            raise typer.Exit(ExitCode.REFUSED) from error
        except (SnapshotError, StateError) as error:
            self.errors.print(f"{doing}: {error}", style="red")
            raise typer.Exit(ExitCode.FAILED) from error


def _error_stream() -> TextIO:
    try:
        if sys.stderr.fileno() == 2:
            return os.fdopen(os.dup(2), "w", buffering=1)
    except (OSError, ValueError):
        pass  # no stream of the system's: nothing can turn it away
    return sys.stderr


def store_of(manifest: Manifest) -> SnapshotStore:
    """The job's snapshot store. Raises `NoStoreError`, `SecretError`, `SnapshotStoreError`."""
    spec = manifest.spec.snapshots
    if spec is None:
        raise NoStoreError(
            f"job {manifest.name} has no snapshot store: add one, e.g. spec.snapshots: {{store: ./snapshots}}"
        )
    return SnapshotStore(spec.url(manifest.name, manifest.base), spec.options(os.environ, manifest.base))


def reach_store(manifest: Manifest) -> None:
    """Ask the job's snapshot store for its newest snapshot, before anything is begun. Raises as `store_of` does."""
    store_of(manifest).newest()


def ago(at_ms: int, now_ms: int | None = None) -> str:
    """How long ago a moment was (ms since 1970), roughly: 4 s, 12 min, 3 h, 5 d."""
    now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    seconds = max(0, now - at_ms) // 1000
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def size_text(count: int) -> str:
    """Bytes for people: 812 B, 4.1 kB, 2.0 GB."""
    if count < 1000:
        return f"{count} B"
    for exponent, unit in enumerate(("kB", "MB", "GB"), 1):
        if count < 1000 ** (exponent + 1) or unit == "GB":
            return f"{count / 1000**exponent:.1f} {unit}"
    raise AssertionError


def short(config_digest: str) -> str:
    """Eight hex digits that tell one configuration from another."""
    return hashlib.sha256(config_digest.encode()).hexdigest()[:8]
