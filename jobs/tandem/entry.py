"""What the entry points of a job's processes do alike: read the manifest, announce themselves, and say why they end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import typer
from prometheus_client import CollectorRegistry

from tandem import logs
from tandem.kafka.errors import (
    ConnectionFailedError,
    LostInputError,
    MissingTopicError,
    NotAllowedError,
    TopicMismatchError,
)
from tandem.manifest import Manifest, ManifestError, SecretError, load
from tandem.process import ExitCode, ProcessInfo
from tandem.serving import Probes, ProcessServer
from tandem.surroundings import check_surroundings

_log = logs.get_logger(__name__)

REFUSALS = (LostInputError, MissingTopicError, TopicMismatchError, ConnectionFailedError, NotAllowedError, SecretError)
"""Errors of the cluster or of the manifest, after which a restart would not help any process."""
_ACCOUNT: Final = "\n=== Streaming Query ===\n"


def manifest_or_exit(path: Path) -> Manifest:
    """The manifest in `path`. Raises `typer.Exit` with `REFUSED` if it cannot be used, and says why on standard error."""
    try:
        loaded = load(path)
    except (ManifestError, OSError) as error:
        typer.echo(error, err=True)
        raise typer.Exit(ExitCode.REFUSED) from error
    missing = check_surroundings(loaded, os.environ)
    if missing:
        typer.echo(ManifestError(path, missing), err=True)
        raise typer.Exit(ExitCode.REFUSED)
    return loaded


@contextmanager
def announced(
    manifest: Manifest,
    registry: CollectorRegistry,
    name: str,
    kind: str,
    run_directory: Path | None,
    probes: Probes,
    served_at: tuple[str, int],
    incarnation: str = "",
) -> Iterator[int]:
    """Serve metrics and probes, if the manifest wants that, and tell in `run_directory` where, while the block runs.

    `served_at`: address and port, 0: any free one. Yields the port that they are served on; 0: they are not.
    """
    with ExitStack() as stack:
        served_on = 0
        if manifest.spec.metrics.enabled:
            address, port = served_at
            server = ProcessServer(registry, probes, port, address)
            stack.callback(server.close)
            served_on = server.port
        info = ProcessInfo(name, kind, os.getpid(), served_on, incarnation)
        stack.enter_context(info.announced(run_directory))
        yield served_on


def reason_of(error: Exception) -> str:
    """What an error says; of a query's, without Spark's account of where the query stood."""
    return str(error).partition(_ACCOUNT)[0].rstrip()


def log_end(error: Exception, refusals: tuple[type[Exception], ...] = REFUSALS) -> ExitCode:
    """Log that the process refuses (`error` is one of `refusals`) or fails, and why; what it must exit with.

    To be called while `error` is handled: a failure is logged with its trace.
    """
    refuses = isinstance(error, refusals)
    event, code = ("refused", ExitCode.REFUSED) if refuses else ("failed", ExitCode.FAILED)
    # The words of an error that was found out from another one say all.
    _log.error(
        event, reason=reason_of(error), kind=type(error).__name__, exc_info=not refuses and error.__cause__ is None
    )
    return code
