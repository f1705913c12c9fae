"""`tandem lanes`: a stopped job goes on with another number of lanes, from its logs and its snapshot store alone."""

from typing import Annotated

import typer
from confluent_kafka import KafkaException

from tandem.cli.stores import Screen, reach_store
from tandem.cli.validate import ManifestFile
from tandem.kafka.errors import ConnectionFailedError, ReadTimeoutError
from tandem.local.lane_change_process import UnfinishedError, change_in_a_process
from tandem.manifest import load
from tandem.process.info import ExitCode, RefusedError
from tandem.replica.lanes_before import lanes_before
from tandem.snapshots import SnapshotStoreError


def lanes(
    manifest: ManifestFile,
    only_check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Only check whether it can change, by the logs and the newest snapshots; the job may run meanwhile.",
        ),
    ] = False,
) -> None:
    """Change the number of lanes of a stopped job to spec.lanes, from its logs and its snapshot store, on any machine.

    The job must be stopped everywhere. The states of its lanes are divided by key, or merged, into savepoints of the new
    lanes; one transaction writes all logs. If it fails, or is killed, the job is what it was. Then start the job.

    A replica that SIGTERM stops takes a last snapshot, which this needs. A job that has that number is left alone.

    Exit code 0: done, or nothing to do; 1: Kafka or the store is unavailable, or it was cut short: try it again; 78:
    refused, with the reason; nothing has changed.

    Examples:

      tandem lanes orders.yaml --check

      tandem lanes orders.yaml
    """
    screen = Screen()
    with screen.telling("the number of lanes was not changed", manifest):
        job = load(manifest)
        try:
            reach_store(job.lanes[0])
            before, count = lanes_before(job, must_know=True), job.spec.lanes
            if before == count:
                screen.out.print(f"{job.name} has {count} lanes")
                return
            if before is None:
                screen.out.print(f"{job.name} has not run yet: it begins with {count} lanes")
                return
            change_in_a_process(job, before, only_check)
        except (UnfinishedError, ConnectionFailedError, ReadTimeoutError, KafkaException, SnapshotStoreError) as error:
            screen.errors.print(f"the change of the number of lanes did not come to its end: {error}", style="red")
            raise typer.Exit(ExitCode.FAILED) from error
        except RefusedError as error:
            screen.errors.print(f"the number of lanes was not changed: {error}", style="red")
            raise typer.Exit(ExitCode.REFUSED) from error
