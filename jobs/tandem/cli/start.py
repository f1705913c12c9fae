"""`tandem start`: a process that was drained or stopped runs again."""

from typing import Annotated

import typer

from tandem.cli.lanes import Lane
from tandem.cli.running import RunFolder, find_job
from tandem.local import StartRequest
from tandem.process.info import ExitCode
from tandem.waiting import Deadline, wait_until

_STARTED_S = 10.0


def start(
    job: Annotated[str, typer.Argument(metavar="JOB", help="A job's name or its manifest.")],
    processes: Annotated[
        list[str],
        typer.Argument(metavar="PROCESS...", help="Names as shown by tandem status."),
    ],
    run_directory: RunFolder = None,
    lane: Lane = None,
) -> None:
    """Start stopped processes of a running job: drained, stopped by `tandem kill --signal TERM`, or given up.

    The orderer beside a replica starts with it. Exit code 0: they run; 1: no such job or process.

    Examples:

      tandem start flights replica-0
    """
    directory, running = find_job(job, run_directory, lane=lane)
    known = {state.name: state for state in running.processes}
    for name in processes:
        if name not in known:
            typer.echo(f"{running.job} has no process {name}: it has {', '.join(known)}", err=True)
            raise typer.Exit(ExitCode.FAILED)
    beside = [f"orderer-{name.rpartition('-')[2]}" for name in processes if known[name].kind == "replica"]
    wanted = [name for name in dict.fromkeys([*processes, *beside]) if name in known and not known[name].running]
    for name in wanted:
        directory.ask_to_start(StartRequest(name))

    def all_run() -> bool:
        now = directory.read()
        return now is not None and all(state.running for state in now.processes if state.name in wanted)

    if not wait_until(all_run, Deadline(_STARTED_S)):
        typer.echo(f"{running.job}'s supervisor (pid {running.pid}) did not start {', '.join(wanted)}", err=True)
        raise typer.Exit(ExitCode.FAILED)
    typer.echo(f"started {', '.join(wanted)}" if wanted else f"{', '.join(processes)} ran already")
