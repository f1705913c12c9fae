"""What the commands have in common about jobs with lanes: which of them are meant, and where they run."""

from pathlib import Path
from typing import Annotated

import typer

from tandem.manifest import Manifest

Lane = Annotated[
    int | None, typer.Option("--lane", min=0, help="Which lane, of a job with spec.lanes.", show_default=False)
]


def chosen(job: Manifest, numbers: str) -> tuple[Manifest, ...]:
    """The lanes of a job that are named in `numbers`, as `0,3`; all if that is empty. Raises `UnknownLaneError`."""
    if not numbers:
        return job.lanes
    try:
        wanted = sorted({int(number) for number in numbers.split(",")})
    except ValueError as error:
        raise typer.BadParameter(
            f"{numbers!r} are no numbers of lanes; write them as 0,3", param_hint="--lanes"
        ) from error
    return tuple(job.of_lane(number) for number in wanted)


def meant(job: Manifest, lane: int | None) -> tuple[Manifest, ...]:
    """One lane of a job, or all. Raises `UnknownLaneError`."""
    return job.lanes if lane is None else (job.of_lane(lane),)


def the_one(job: Manifest, lane: int | None) -> Manifest:
    """The job itself if it has no lanes, else `lane` of it. Raises `UnknownLaneError`."""
    if lane is None and len(job.lanes) == 1:
        return job
    return job.of_lane(lane)


def folder_of(job: Manifest, run_directory: Path | None) -> Path | None:
    """Where a job, or a lane of one, runs if `run_directory` is given for the whole."""
    return run_directory if run_directory is None or job.lane is None else run_directory / f"lane-{job.lane}"
