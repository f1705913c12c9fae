"""Finding a job that runs on this machine, by its name or its manifest."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tandem.local import RunDirectory, RunningJob, default_root, default_run_directory
from tandem.manifest import ManifestError, lane_name, load
from tandem.process.info import ExitCode

RunFolder = Annotated[
    Path | None, typer.Option(help="The run directory, if the job was started with one.", show_default=False)
]


def find_job(
    name_or_manifest: str | None, run_directory: Path | None, otherwise: str = "", lane: int | None = None
) -> tuple[RunDirectory, RunningJob]:
    """The job that runs in `run_directory`, or under that name, or, given neither, the only one that runs; or `lane` of it.

    Leaves with a message if there is none; `otherwise`: what to do then.
    """
    if run_directory is None and name_or_manifest is None:
        return _the_only_one()
    name = None if name_or_manifest is None else _name(name_or_manifest)
    if lane is not None:
        name = None if name is None else lane_name(name, lane)
        run_directory = None if run_directory is None else run_directory / f"lane-{lane}"
    directory = RunDirectory((run_directory or default_run_directory(name or "")).absolute())
    running = directory.read()
    if running is None or (name is not None and running.job != name):
        other = "" if run_directory is not None else "; if it was started with --run-directory, give the same one"
        what = "no job is" if name is None else f"job {name} is not"
        raise _leave(f"{what} running in {directory.path}{other}{_others()}{f'. {otherwise}' if otherwise else ''}")
    return directory, running


def find_lanes(name_or_manifest: str | None, run_directory: Path | None) -> list[tuple[RunDirectory, RunningJob]]:
    """The lanes that run here of a job that has several, in their order; none if it has not, or does not run."""
    name = None if name_or_manifest is None else _name(name_or_manifest)
    found = [one for one in _running(run_directory or default_root()) if one[1].lane is not None]
    jobs = {whole_name(running) for _, running in found}
    if name is None and len(jobs) == 1 and run_directory is None and len(found) == len(list(_running())):
        (name,) = jobs
    lanes = [one for one in found if run_directory is not None or whole_name(one[1]) == name]
    return sorted(lanes, key=lambda one: one[1].lane or 0)


def whole_name(lane: RunningJob) -> str:
    """The name of the job that a lane's process belongs to: `orders` of `orders.2`."""
    return lane.job.rpartition(".")[0]


def find_local_job(name: str, run_directory: Path | None) -> RunDirectory | None:
    """Where the job `name` runs on this machine; None if it does not."""
    directory = RunDirectory(run_directory or default_run_directory(name))
    running = directory.read()
    return directory if running is not None and running.job == name else None


def _name(name_or_manifest: str) -> str:
    path = Path(name_or_manifest)
    if path.suffix not in (".yaml", ".yml") and not path.is_file():
        return name_or_manifest
    try:
        return load(path).name
    except (ManifestError, OSError) as error:
        raise _leave(str(error)) from error


def _the_only_one() -> tuple[RunDirectory, RunningJob]:
    running = list(_running())
    if len(running) == 1:
        return running[0]
    if not running:
        raise _leave(f"no job is running below {default_root()}; start one with: tandem run MANIFEST")
    raise _leave(f"several jobs are running: name one of {', '.join(job.job for _, job in running)}")


def _others() -> str:
    names = [job.job for _, job in _running()]
    return f". Running: {', '.join(names)}" if names else ""


def _running(root: Path | None = None) -> Iterator[tuple[RunDirectory, RunningJob]]:
    root = root or default_root()
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        running = RunDirectory(folder).read()
        if running is not None:
            yield RunDirectory(folder), running


def _leave(message: str) -> typer.Exit:
    typer.echo(message[0].upper() + message[1:], err=True)
    return typer.Exit(ExitCode.FAILED)
