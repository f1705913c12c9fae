"""`tandem status`: how a running job stands, on one screen or as JSON."""

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from tandem import logs
from tandem.cli.lanes import Lane
from tandem.cli.running import RunFolder, find_job, find_lanes
from tandem.cli.stores import PIPE_WIDTH
from tandem.local import RunDirectory, RunningJob
from tandem.local.lanes_screen import lanes_table
from tandem.local.observe import Observer
from tandem.local.screen import job_table
from tandem.manifest import ManifestError, SecretError
from tandem.process.info import ExitCode


def status(
    job: Annotated[
        str | None,
        typer.Argument(metavar="[JOB|MANIFEST]", help="A job's name or its manifest.", show_default="the only one"),
    ] = None,
    run_directory: RunFolder = None,
    lane: Lane = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for scripts.")] = False,
) -> None:
    """Show the state of a job that runs on this machine: who publishes, who leads, how far each replica is.

    Quantiles are over the life of each process; `tandem run` shows them for the last ten seconds.

    Exit code 0: the job runs; 1: it does not.

    Examples:

      tandem status

      tandem status flights

      tandem status orders --lane 2

      tandem status flights.yaml --json | jq '.replicas[] | {name, epoch, lag_records}'
    """
    logs.configure("WARNING")
    lanes = find_lanes(job, run_directory) if lane is None else []
    found = lanes or [find_job(job, run_directory, lane=lane)]
    seen = [_observer(directory, running).look() for directory, running in found]
    if as_json:
        typer.echo(json.dumps({"lanes": [asdict(one) for one in seen]} if lanes else asdict(seen[0])))
        return
    out = Console()
    table = lanes_table(seen[0].job.rpartition(".")[0], seen) if lanes else job_table(seen[0])
    out.print(table, width=None if out.is_terminal else PIPE_WIDTH)


def _observer(directory: RunDirectory, running: RunningJob) -> Observer:
    try:
        return Observer(running.loaded(), directory, lambda: [process.looked_at() for process in running.processes])
    except (ManifestError, OSError, SecretError) as error:
        typer.echo(f"{running.job} runs, but its manifest cannot be used any more: {error}", err=True)
        raise typer.Exit(ExitCode.FAILED) from error
