"""`tandem status`: how a running job stands, on one screen, live or as JSON."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from tandem import logs
from tandem.cli.lanes import Lane
from tandem.cli.running import RunFolder, find_job, find_lanes, whole_name
from tandem.cli.view import View, watch
from tandem.local import RunDirectory, RunningJob
from tandem.local.lanes_screen import lanes_table
from tandem.local.observe import Observer
from tandem.local.page import job_page
from tandem.manifest import ManifestError, SecretError
from tandem.process.info import ExitCode, stop_on_signals
from tandem.status.page import console, show


def status(
    job: Annotated[
        str | None,
        typer.Argument(metavar="[JOB|MANIFEST]", help="A job's name or its manifest.", show_default="the only one"),
    ] = None,
    run_directory: RunFolder = None,
    lane: Lane = None,
    each: Annotated[
        bool,
        typer.Option("--lanes", help="A row for each lane; else, of more than eight, for those that are not ready."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for scripts.")] = False,
    watching: Annotated[
        bool, typer.Option("--watch", "-w", help="Every second, until Ctrl-C; in a pipe, a line every few seconds.")
    ] = False,
) -> None:
    """Show the state of a job that runs on this machine: whether it is safe, who publishes, how far each replica is.

    Quantiles are over the life of each process; with --watch, and on the screen of `tandem run`, for the last ten
    seconds, and the last two minutes as bars.

    Exit code 0: the job runs; 1: it does not, or has stopped while it was watched.

    Examples:

      tandem status

      tandem status flights --watch

      tandem status orders --lanes

      tandem status orders --lane 2

      tandem status flights.yaml --json | jq '.replicas[] | {name, epoch, lag_records}'
    """
    if as_json and watching:
        raise typer.BadParameter("--json is one look: leave out --watch, or repeat the command", param_hint="--watch")
    logs.configure("WARNING")
    lanes = find_lanes(job, run_directory) if lane is None else []
    found = lanes or [find_job(job, run_directory, lane=lane)]
    observers = [_observer(directory, running) for directory, running in found]
    name = whole_name(found[0][1]) if lanes else found[0][1].job
    out = console()
    if watching:
        stopping = stop_on_signals()
        watch(
            out,
            View(name, observers, each),
            lambda: any(directory.read() for directory, _ in found),
            stopping,
            out.is_terminal,
        )
        if not stopping.is_set():
            typer.echo(f"{name} has stopped", err=True)
            raise typer.Exit(ExitCode.FAILED)
        return
    seen = [observer.look() for observer in observers]
    if as_json:
        typer.echo(json.dumps({"lanes": [asdict(one) for one in seen]} if lanes else asdict(seen[0])))
    else:
        show(out, lanes_table(name, seen, each) if lanes else job_page(seen[0]))


def _observer(directory: RunDirectory, running: RunningJob) -> Observer:
    def now() -> RunningJob:
        return directory.read() or running  # its processes may be others by now

    try:
        return Observer(running.loaded(), directory, lambda: [process.looked_at() for process in now().processes])
    except (ManifestError, OSError, SecretError) as error:
        typer.echo(f"{running.job} runs, but its manifest cannot be used any more: {error}", err=True)
        raise typer.Exit(ExitCode.FAILED) from error
