"""`tandem savepoint`: snapshots with a name, which stay."""

import json as json_module
import os
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from tandem.cli.lanes import Lane, meant, the_one
from tandem.cli.restore import restore
from tandem.cli.run import parse_duration
from tandem.cli.stores import SavepointName, Screen, ago, short, size_text, store_of
from tandem.cli.validate import ManifestFile
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import MissingTopicError
from tandem.kafka.history import last_marker
from tandem.kafka.topics import Topics
from tandem.manifest import Manifest, Spec, load
from tandem.process.info import ExitCode
from tandem.snapshots import (
    Listing,
    NoSnapshotError,
    Savepoint,
    Savepoints,
    SnapshotManifest,
    SnapshotStore,
    newest_snapshot,
    not_before_epoch,
)
from tandem.state import inputs_of, rescale_savepoint, state_session
from tandem.waiting import Deadline

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
        for job in jobs:
            Savepoints(store_of(job)).check_free(name)
        for job in jobs:
            store = store_of(job)
            connection = KafkaConnection(job.kafka_properties(os.environ)).silent
            _check_logs(job, connection)
            snapshot = _chosen(screen, job, connection, store, None if newest else wait, f"{manifest} {name}")
            made = Savepoints(store).create(name, snapshot, inputs_of(job, connection, snapshot))
            screen.out.print(f"savepoint {name} of job {job.name}: {_described(made)}")


@savepoint_app.command("list")
def list_(
    manifest: ManifestFile,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for scripts; one for each lane.")] = False,
    lane: Lane = None,
) -> None:
    """Show the savepoints of a job.

    Exit code 0: listed; 1: some are damaged, or the store is unavailable; 78: the manifest must be fixed first.
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

    Exit code 0: deleted; 1: no such savepoint, or the store is unavailable; 78: the manifest must be fixed first.
    """
    screen = Screen()
    with screen.telling("not deleted", manifest):
        for job in meant(load(manifest), lane):
            Savepoints(store_of(job)).delete(name)
            screen.out.print(f"savepoint {name} of job {job.name} is deleted")


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

    The whole state is read and written once, on this machine; the job is not affected, and need not run.

    Exit code 0: created; 1: not created; 78: the manifest must be fixed first.

    Examples:

      tandem savepoint rescale flights.yaml before-upgrade --partitions 4 --to on-four-cores
    """
    screen = Screen()
    with screen.telling("no savepoint was made", manifest):
        job = the_one(load(manifest), lane)
        savepoints = Savepoints(store_of(job))
        old = savepoints.get(name)
        savepoints.check_free(to)
        with tempfile.TemporaryDirectory(prefix="tandem-rescale-") as folder:
            screen.errors.print(f"dividing {size_text(old.snapshot.size)} of state into {partitions} partitions …")
            with state_session(job, Path(folder) / "scratch") as spark:
                made = rescale_savepoint(spark, savepoints, old, partitions, to, Path(folder))
        screen.out.print(f"savepoint {to} of job {job.name}: {_described(made)}")


def _chosen(
    screen: Screen, job: Manifest, connection: KafkaConnection, store: SnapshotStore, wait_s: float | None, again: str
) -> SnapshotManifest:
    """The snapshot to keep: the newest one, or after at most `wait_s` one that includes all that is published by now."""
    if wait_s is None:
        return newest_snapshot(store)
    marker = last_marker(connection, job.model.topics.commits)
    if marker is None:
        raise NoSnapshotError(f"job {job.name} has published nothing yet: there is no state to keep")
    try:
        with screen.doing(f"Waiting for a snapshot of epoch {marker.epoch:,} or later, for at most {wait_s:.0f} s …"):
            return newest_snapshot(store, not_before_epoch(marker.epoch), Deadline(wait_s))
    except NoSnapshotError as error:
        wanted = f"no snapshot of epoch {marker.epoch:,}, the last one published, appeared within {wait_s:.0f} s"
        if error.newest is None:
            raise NoSnapshotError(f"{wanted}, and there is no older one: does the job run?") from error
        newest = f"the newest one is of epoch {error.newest.epoch:,}, taken {ago(error.newest.taken_at_ms)} ago"
        raise NoSnapshotError(
            f"{wanted}; {newest}. If the job runs, --wait for longer than {patience(job.spec)}; if it has "
            f"stopped, take that one: tandem savepoint create {again} --newest"
        ) from error


def patience(spec: Spec) -> str:
    """In words, how long it may take until a snapshot includes what is published now."""
    snapshots = f"spec.snapshots.interval ({spec.snapshots and spec.snapshots.interval})"
    if spec.engine == "microBatch":
        return snapshots
    return f"{snapshots} and twice spec.ordering.barrierInterval ({spec.ordering.barrier_interval}) together"


def _check_logs(job: Manifest, connection: KafkaConnection) -> None:
    """Within seconds: Kafka answers, and the job has run there."""
    topics = Topics(connection)
    topics.partitions([topic for source in job.spec.sources for topic in source.topics])
    try:
        topics.partitions([job.model.topics.ordering, job.model.topics.commits])
    except MissingTopicError as error:
        raise NoSnapshotError(f"job {job.name} has never run on this Kafka: there is no state to keep") from error


def _described(made: Savepoint) -> str:
    snapshot = made.snapshot
    return (
        f"epoch {snapshot.epoch:,}, {size_text(snapshot.size)} in {len(snapshot.files):,} files, {_partitions(made)}, "
        f"taken {ago(snapshot.taken_at_ms)} ago"
    )


def _partitions(savepoint: Savepoint) -> str:
    count = savepoint.partitions
    return "no state" if count == 0 else f"{count} partition{'' if count == 1 else 's'} of state"


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
