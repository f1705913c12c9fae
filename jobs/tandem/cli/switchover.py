"""`tandem promote` and `tandem drain`: a standby takes the place of a replica."""

import os
import signal
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tandem.cli.durations import parse_duration
from tandem.cli.lanes import Lane, folder_of, the_one
from tandem.cli.running import RunFolder, find_job, find_local_job
from tandem.coordination.handover import MarkerWatch, Requester, Switched, switch
from tandem.kafka.client import KafkaConnection
from tandem.local import RunDirectory, sessions
from tandem.manifest import Manifest, ManifestError, SecretError, UnknownLaneError, load
from tandem.process.info import ExitCode
from tandem.protocol.switchover import (
    HandoverRequest,
    Stage,
    SwitchoverRefusedError,
    View,
    plan_drain,
    plan_promotion,
    replica_name,
)
from tandem.waiting import Deadline, wait_until

_DOWN_S = 30.0

Job = Annotated[str, typer.Argument(metavar="JOB", help="A job's name or its manifest.")]
Timeout = Annotated[
    float,
    typer.Option(metavar="DURATION", parser=parse_duration, help="Give up after that time; then nothing has changed."),
]


def promote(
    job: Job,
    replica: Annotated[str | None, typer.Argument(metavar="[REPLICA]", help="A standby.", show_default="any")] = None,
    instead_of: Annotated[
        str | None,
        typer.Option(metavar="REPLICA", help="The active replica that becomes a standby.", show_default="any"),
    ] = None,
    timeout: Timeout = "2m",  # type: ignore[assignment]
    run_directory: RunFolder = None,
    lane: Lane = None,
) -> None:
    """Planned switchover: a standby becomes active, and the replica that it replaces becomes a standby.

    The standby computes beside the others until it has caught up; only then does the other one give up its place. If the
    standby fails before that, nothing has changed. Only ZooKeeper is needed for it.

    Exit code 0: done; 1: refused or failed; the reason is printed.

    Examples:

      tandem promote flights

      tandem promote flights replica-2 --instead-of replica-0
    """
    switched, _ = _carry_out(
        _manifest(job, run_directory, lane), timeout, lambda view, id_: plan_promotion(view, replica, instead_of, id_)
    )
    typer.echo(
        f"{replica_name(switched.request.successor)} is active, {switched.request.leaves} stands by again{_cost(switched)}"
    )


def drain(
    job: Job,
    replica: Annotated[str, typer.Argument(metavar="REPLICA", help="The replica to drain.")],
    force: Annotated[bool, typer.Option("--force", help="Even if no standby can take over.")] = False,
    to_nobody: Annotated[
        bool, typer.Option("--to-nobody", help="Without a successor: the replica is not needed.")
    ] = False,
    timeout: Timeout = "2m",  # type: ignore[assignment]
    run_directory: RunFolder = None,
    lane: Lane = None,
) -> None:
    """End a replica for good, after a standby has taken over from it. It comes back with: tandem start JOB REPLICA.

    The orderer beside it ends, too, if the job runs on this machine.

    Exit code 0: done; 1: refused or failed; the reason is printed.

    Examples:

      tandem drain flights replica-0

      tandem start flights replica-0
    """
    switched, directory = _carry_out(
        _manifest(job, run_directory, lane), timeout, lambda view, id_: plan_drain(view, replica, force, id_, to_nobody)
    )
    if directory is not None:
        _stop_beside(directory, replica)
    name = directory.read() if directory is not None else None
    back = f"; tandem start {name.job} {replica} brings it back" if name is not None else ""
    typer.echo(f"{replica} is drained{_cost(switched)}{back}")


def _carry_out(
    found: tuple[Manifest, RunDirectory | None], timeout_s: float, plan: Callable[[View, str], HandoverRequest]
) -> tuple[Switched, RunDirectory | None]:
    """Plan a request, follow it, and leave with what went wrong, if anything did."""
    manifest, directory = found
    out = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
    try:
        options = manifest.zookeeper_options(os.environ)
        if options is None:
            raise SwitchoverRefusedError(
                f"{manifest.name} has no ZooKeeper, through which its replicas would agree on it: add spec.zookeeper"
            )
        connection = KafkaConnection(manifest.kafka_properties(os.environ)).silent
        with Requester.connected(options, manifest.name) as requester:
            before = requester.look()
            request = plan(before, uuid.uuid4().hex[:8])
            with MarkerWatch(connection, manifest.model.topics.commits) as watch:
                switched = switch(requester, request, before, watch, timeout_s, _Progress(out, request))
        if switched.stage is not Stage.DONE:
            raise SwitchoverRefusedError(_why_not(switched))
    except (SwitchoverRefusedError, SecretError) as error:
        typer.echo(f"Not done: {error}", err=True)
        raise typer.Exit(ExitCode.FAILED) from error
    return switched, directory


class _Progress:
    """Says each stage once, as a line."""

    def __init__(self, out: Console, request: HandoverRequest) -> None:
        self._out = out
        self._request = request
        self._last: Stage | None = None

    def __call__(self, stage: Stage) -> None:
        if stage is self._last or stage is Stage.DONE:
            return
        self._last = stage
        successor, leaves = replica_name(self._request.successor), self._request.leaves
        if not self._request.successor:
            self._out.print(f"{leaves} ends")
        elif stage is Stage.RELIEVED:
            self._out.print(f"{successor} has taken over, {leaves} finishes")
        else:
            self._out.print(f"{successor} {stage.value}")


def _why_not(switched: Switched) -> str:
    successor, leaves = replica_name(switched.request.successor), switched.request.leaves
    match switched.stage:
        case Stage.SUCCESSOR_GONE:
            return f"{successor} ended before it had taken over: {leaves} goes on as before"
        case Stage.LEAVER_GONE:
            return f"{leaves} ended by itself meanwhile: a standby takes its place as after any failure"
        case _ if not switched.request.successor:
            return f"{leaves} has not ended within {switched.elapsed_s:.0f} s"
        case _:
            return f"{successor} has not taken over within {switched.elapsed_s:.0f} s: {leaves} goes on as before"


def _cost(switched: Switched) -> str:
    """After how long, at which epoch, and what readers saw of it."""
    parts = [f", after {switched.elapsed_s:.1f} s"]
    first, last, gap = switched.first_by_successor, switched.last_by_leaver, switched.longest_gap_s
    if last is not None:
        parts.append(f"{switched.request.leaves} published up to epoch {last}")
    if first is not None:
        parts.append(f"{replica_name(switched.request.successor)} from epoch {first} on")
    if gap is not None:
        parts.append(f"longest time without an epoch {gap * 1000:.0f} ms")
    return "; ".join(parts)


def _manifest(job: str, run_directory: Path | None, lane: int | None) -> tuple[Manifest, RunDirectory | None]:
    """The job's manifest: of the job that runs here, or, for one that runs elsewhere, the file that is named."""
    path = Path(job)
    try:
        if path.is_file():
            manifest = the_one(load(path), lane)
            return manifest, find_local_job(manifest.name, folder_of(manifest, run_directory))
        directory, running = find_job(job, run_directory, lane=lane)
        return running.loaded(), directory
    except (ManifestError, UnknownLaneError, OSError) as error:
        typer.echo(f"The manifest cannot be used: {error}", err=True)
        raise typer.Exit(ExitCode.FAILED) from error


def _stop_beside(directory: RunDirectory, replica: str) -> None:
    """Stop the orderer beside a drained replica, and wait until the replica's process is down as well."""
    running = directory.read()
    index = replica.rpartition("-")[2]
    for process in () if running is None else running.processes:
        if process.kind == "orderer" and process.name == f"orderer-{index}" and process.running:
            sessions.send(process.pid, signal.SIGTERM)
    wait_until(lambda: _is_down(directory, replica), Deadline(_DOWN_S))


def _is_down(directory: RunDirectory, name: str) -> bool:
    running = directory.read()
    return running is None or all(not process.running for process in running.processes if process.name == name)
