"""`tandem savepoint`: snapshots with a name, which stay."""

import json as json_module
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from tandem.cli.creating import chosen, described, generations_of, keep, lacking
from tandem.cli.durations import parse_duration
from tandem.cli.lanes import Lane, meant, the_one
from tandem.cli.restore import restore
from tandem.cli.stores import SavepointName, Screen, ago, short, size_text, store_of
from tandem.cli.validate import ManifestFile
from tandem.manifest import Manifest, load
from tandem.process.info import ExitCode
from tandem.snapshots import Listing, Savepoint, Savepoints, UnknownSavepointError
from tandem.state import rescale_savepoint, state_session
from tandem.state.room import RESCALED, room_for

savepoint_app = typer.Typer(
    name="savepoint",
    help="Named snapshots that stay until they are deleted: to go back, to upgrade, to move a job.",
    no_args_is_help=True,
)


@savepoint_app.command()
def create(
    manifest: ManifestFile,
    name: SavepointName,
    wait: Annotated[
        float,
        typer.Option(
            metavar="DURATION", parser=parse_duration, help="How long to wait for a snapshot that is recent enough."
        ),
    ] = "30s",  # type: ignore[assignment]
    newest: Annotated[
        bool, typer.Option("--newest", help="Take the newest snapshot as it is, and do not wait.")
    ] = False,
    lane: Lane = None,
) -> None:
    """Create a savepoint of a job. It includes everything that was published when you asked; the job continues meanwhile.

    Waits for a snapshot that is recent enough, as replicas take them every spec.snapshots.interval.

    Exit code 0: created; 1: not created; 78: the manifest, Kafka or the store must be fixed first.

    Examples:

      tandem savepoint create flights.yaml before-upgrade

      tandem savepoint create flights.yaml last-known --newest
    """
    screen = Screen()
    with screen.telling("no savepoint was made", manifest):
        jobs = meant(load(manifest), lane)
        asked = generations_of(lacking(screen, jobs, name))
        keep(screen, [chosen(screen, one, None if newest else wait, f"{manifest} {name}") for one in asked], name)


@savepoint_app.command("list")
def list_(
    manifest: ManifestFile,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for scripts; one for each lane.")] = False,
    lane: Lane = None,
) -> None:
    """Show the savepoints of a job.

    Exit code 0: listed; 1: some are damaged; 78: the manifest or the store must be fixed first.
    """
    screen = Screen()
    with screen.telling("savepoints cannot be listed", manifest):
        listings = [(job, Savepoints(store_of(job)).list()) for job in meant(load(manifest), lane)]
    for job, listing in listings:
        _show(screen, job, listing, as_json)
    if any(listing.damaged for _, listing in listings):
        raise typer.Exit(ExitCode.FAILED)


def _show(screen: Screen, job: Manifest, listing: Listing, as_json: bool) -> None:
    if as_json:
        typer.echo(json_module.dumps({"job": job.name, "savepoints": [_fields(one) for one in listing.savepoints]}))
    elif listing.savepoints:
        if job.lane is not None:
            screen.out.print(f"{job.name}:")
        screen.out.print(_table(listing), soft_wrap=False)
    else:
        screen.out.print(f"job {job.name} has no savepoint; make one with: tandem savepoint create {job.path} NAME")
    for one in listing.damaged:
        screen.errors.print(f"{one.name} is damaged: {one.reason}. Nothing is collected while it is there", style="red")


savepoint_app.command()(restore)


@savepoint_app.command()
def delete(manifest: ManifestFile, name: SavepointName, lane: Lane = None) -> None:
    """Delete a savepoint. Files that only it needs are removed within half an hour, while the job runs.

    Exit code 0: deleted; 1: no such savepoint; 78: the manifest or the store must be fixed first.
    """
    screen = Screen()
    with screen.telling("not deleted", manifest):
        jobs, without = meant(load(manifest), lane), []
        for job in jobs:
            try:
                Savepoints(store_of(job)).delete(name)
            except UnknownSavepointError:
                if len(jobs) == 1:
                    raise
                without.append(job.name)
            else:
                screen.out.print(f"savepoint {name} of job {job.name} is deleted")
        if len(without) == len(jobs):
            raise UnknownSavepointError(f"no lane has a savepoint {name}")
    if without:
        screen.errors.print(f"{', '.join(without)} had no savepoint {name}")


@savepoint_app.command()
def rescale(
    manifest: ManifestFile,
    name: SavepointName,
    partitions: Annotated[
        int, typer.Option(min=1, max=1_024, help="New number of partitions: the next spec.spark.parallelism.")
    ],
    to: Annotated[str, typer.Option(metavar="NAME", help="Name of the new savepoint; the old one stays.")],
    lane: Lane = None,
) -> None:
    """Create a savepoint with the same state, divided into another number of partitions.

    The whole state is read and written once, on this machine, in $TMPDIR, which needs about three times its size; the job is
    not affected, and need not run.

    Exit code 0: created; 1: not created; 78: the manifest or the store must be fixed first.

    Examples:

      tandem savepoint rescale flights.yaml before-upgrade --partitions 4 --to on-four-cores
    """
    screen = Screen()
    with screen.telling("no savepoint was made", manifest):
        job = the_one(load(manifest), lane)
        savepoints = Savepoints(store_of(job))
        old = savepoints.get(name)
        savepoints.check_free(to)
        needed = RESCALED * old.snapshot.size
        with room_for(needed), tempfile.TemporaryDirectory(prefix="tandem-rescale-") as folder:
            screen.errors.print(f"dividing {size_text(old.snapshot.size)} of state into {partitions} partitions …")
            with state_session(job, Path(folder) / "scratch") as spark:
                made = rescale_savepoint(spark, savepoints, old, partitions, to, Path(folder))
        screen.out.print(f"savepoint {to} of job {job.name}: {described(made)}")


def _table(listing: Listing) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("Name", style="bold")
    for heading in ("Epoch", "Age", "Size", "Partitions"):
        table.add_column(heading, justify="right")
    for heading in ("Config", "From"):
        table.add_column(heading)
    for one in listing.savepoints:
        snapshot = one.snapshot
        numbers = (
            f"{snapshot.epoch:,}",
            ago(snapshot.taken_at_ms),
            size_text(snapshot.size),
            str(one.partitions or "–"),
        )
        table.add_row(one.name, *numbers, short(snapshot.config_digest), one.rescaled_from or snapshot.incarnation)
    return table


def _fields(one: Savepoint) -> dict[str, object]:
    snapshot = one.snapshot
    return {
        "name": one.name,
        "epoch": snapshot.epoch,
        "takenAtMs": snapshot.taken_at_ms,
        "createdAtMs": one.created_at_ms,
        "bytes": snapshot.size,
        "partitions": one.partitions,
        "config": short(snapshot.config_digest),
        "rescaledFrom": one.rescaled_from or None,
        "inputs": {f"{end.topic}/{end.partition}": end.offset for end in one.inputs.ends},
    }
