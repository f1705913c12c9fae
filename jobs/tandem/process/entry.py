"""What the entry points of a job's processes do alike: read the manifest, announce themselves, and say why they end."""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
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
    UnreadableInputError,
)
from tandem.manifest import Manifest, ManifestError, SecretError, UnknownLaneError, load
from tandem.process.ending import End, EndKind, Kinds
from tandem.process.errors import PortTakenError
from tandem.process.info import ExitCode, ProcessInfo, RefusedError
from tandem.process.surroundings import check_surroundings
from tandem.status.serving import Probes, ProcessServer

_log = logs.get_logger(__name__)

REFUSALS: Kinds = {
    ConnectionFailedError: EndKind.UNREACHABLE,
    PortTakenError: EndKind.UNREACHABLE,  # at first a mistake of the manifest, later what another process may end
    **dict.fromkeys(
        (
            LostInputError,
            UnreadableInputError,
            MissingTopicError,
            TopicMismatchError,
            NotAllowedError,
            SecretError,
            RefusedError,
        ),
        EndKind.REFUSED,
    ),
}
"""Errors of the cluster or of the manifest, after which a restart would not help any process."""


class Lifecycle:
    """What a process leaves for its supervisor: where it can be found, whether it came up, and how it ended."""

    def __init__(self, name: str, kind: str, run_directory: Path | None) -> None:
        self._info = ProcessInfo(name, kind, os.getpid(), 0)
        self._run_directory = run_directory

    @property
    def metrics_port(self) -> int:
        """Where metrics and probes are served; 0: they are not."""
        return self._info.metrics_port

    @contextmanager
    def announced(
        self,
        manifest: Manifest,
        registry: CollectorRegistry,
        probes: Probes,
        served_at: tuple[str, int],
        incarnation: str = "",
    ) -> Iterator[int]:
        """Serve metrics and probes, if the manifest wants that, and say in the run directory where, while the block runs.

        `served_at`: address and port, 0: any free one. Yields the port that they are served on; 0: they are not.

        Raises `PortTakenError`.
        """
        with ExitStack() as stack:
            if manifest.spec.metrics.enabled:
                address, port = served_at
                server = self._serving(registry, probes, port, address)
                stack.callback(server.close)
                self._info = replace(self._info, metrics_port=server.port)
            self._info = replace(self._info, incarnation=incarnation)
            stack.enter_context(self._info.announced(self._run_directory))
            yield self._info.metrics_port

    def _serving(self, registry: CollectorRegistry, probes: Probes, port: int, address: str) -> ProcessServer:
        try:
            return ProcessServer(registry, probes, port, address)
        except (OSError, OverflowError) as error:
            raise PortTakenError(_not_served(self._info.name, port, error)) from error

    def manifest_or_exit(self, path: Path, lane: int | None = None) -> Manifest:
        """The manifest in `path`, or `lane` of it. Raises `typer.Exit` if it cannot be used; why is on standard error."""
        try:
            loaded = load(path, lane)
            if len(loaded.lanes) > 1:
                raise UnknownLaneError(loaded.name, loaded.spec.lanes, None)
            if missing := check_surroundings(loaded, os.environ):
                raise ManifestError(path, missing)
        except (ManifestError, UnknownLaneError, OSError) as error:
            End(EndKind.REFUSED, str(error), type(error).__name__, pid=os.getpid()).leave(
                self._run_directory, self._info.name
            )
            typer.echo(error, err=True)
            raise typer.Exit(ExitCode.REFUSED) from error
        return loaded

    def came_up(self) -> None:
        """It does what it is there for."""
        self._info = replace(self._info, came_up=True)
        if self._run_directory is not None:
            self._info.write(self._run_directory)

    def stopped(self) -> ExitCode:
        """Say that it ends because it was asked to, by a signal; returns what it must exit with."""
        End(EndKind.STOPPED, came_up=self._info.came_up, pid=os.getpid()).leave(self._run_directory, self._info.name)
        return ExitCode.OK

    def ended(self, error: Exception, kinds: Kinds = REFUSALS) -> ExitCode:
        """Say why the process ends, in its log and to its supervisor; returns what it must exit with.

        To be called while `error` is handled: a failure is logged with its trace.
        """
        end = End.of(error, kinds, self._info.came_up)
        end.leave(self._run_directory, self._info.name)
        match end.kind:
            case EndKind.DRAINED | EndKind.STEPPED_DOWN | EndKind.SUPERSEDED:
                _log.info(end.kind.value, reason=end.reason, kind=end.error)
            case EndKind.FAILED:
                # The words of an error that was found out from another one say all.
                _log.error("failed", reason=end.reason, kind=end.error, exc_info=error.__cause__ is None)
            case _:
                _log.error("refused", reason=end.reason, kind=end.error)
        return _CODES.get(end.kind, ExitCode.REFUSED)


def taken_apart(parts: ExitStack) -> None:
    """Close the parts of a process. How it ended is decided by then: trouble with that is logged, and changes nothing."""
    try:
        parts.close()
    except Exception as error:
        _log.warning("not_closed", reason=repr(error), exc_info=True)


_CODES: Final = {
    EndKind.DRAINED: ExitCode.OK,
    EndKind.STEPPED_DOWN: ExitCode.FAILED,
    EndKind.FAILED: ExitCode.FAILED,
}


def _not_served(name: str, port: int, error: Exception) -> str:
    why = getattr(error, "strerror", None) or error
    said = f"{name} cannot serve its metrics on port {port}: {why}"
    if getattr(error, "errno", None) != errno.EADDRINUSE:
        return f"{said}. Choose another spec.metrics.port, from 1024 on, or 0: any free ones"
    if "POD_NAME" in os.environ:
        return f"{said}. Give the other container of the pod that listens there another port, in spec.podTemplate"
    return (
        f"{said}. Replica i has port spec.metrics.port + i. End what listens there, or set spec.metrics.port to the first "
        "of as many free ports as there are replicas, or to 0: any free ones"
    )
