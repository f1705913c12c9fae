"""`tandem kill`: a failure on purpose."""

import signal
from enum import StrEnum
from typing import Annotated

import typer

from tandem.cli.lanes import Lane
from tandem.cli.running import RunFolder, find_job
from tandem.local import sessions
from tandem.process.info import ExitCode


class SignalName(StrEnum):
    """What can be sent."""

    KILL = "KILL"
    STOP = "STOP"
    CONT = "CONT"
    TERM = "TERM"

    @property
    def number(self) -> signal.Signals:
        """The signal."""
        return signal.Signals[f"SIG{self.value}"]


_DONE = {
    SignalName.KILL: "killed; its supervisor restarts it",
    SignalName.STOP: "paused; --signal CONT resumes it",
    SignalName.CONT: "resumed",
    SignalName.TERM: "asked to stop; it stays stopped until tandem start",
}


def kill(
    job: Annotated[str, typer.Argument(metavar="JOB", help="A job's name or its manifest.")],
    process: Annotated[
        str, typer.Argument(metavar="PROCESS", help="Name as shown by tandem status: replica-0, orderer-1 …")
    ],
    signal_name: Annotated[
        SignalName,
        typer.Option(
            "--signal", case_sensitive=False, help="KILL, STOP (pause), CONT (resume), or TERM (stop for good)."
        ),
    ] = SignalName.KILL,
    run_directory: RunFolder = None,
    lane: Lane = None,
) -> None:
    """Kill, pause, resume or stop one process of a running job, with the JVM and the workers that belong to it.

    Exit code 0: the signal was sent; 1: no such job or process, or it is not running.

    Examples:

      tandem kill flights replica-0

      tandem kill flights replica-1 --signal STOP

      tandem kill flights replica-1 --signal CONT

      tandem kill orders replica-0 --lane 2
    """
    _, running = find_job(job, run_directory, lane=lane)
    target = next((state for state in running.processes if state.name == process), None)
    if target is None:
        names = ", ".join(state.name for state in running.processes)
        _leave(f"{running.job} has no process {process}: it has {names}")
    elif not target.running:
        _leave(f"{process} does not run: {target.state}")
    elif sessions.members(target.pid):
        sessions.send(target.pid, signal_name.number)
        typer.echo(f"{process} (pid {target.pid}) {_DONE[signal_name]}")
    else:
        _leave(f"{process} (pid {target.pid}) has just ended")


def _leave(message: str) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(ExitCode.FAILED)
