"""`tandem savepoint restore`: a job goes on from a savepoint, whether it runs or not."""

from pathlib import Path
from typing import Annotated

import typer

from tandem.cli.lanes import folder_of
from tandem.cli.run import run
from tandem.cli.running import find_local_job
from tandem.cli.stores import SavepointName, Screen, store_of
from tandem.cli.upgrade import upgrade
from tandem.cli.validate import ManifestFile
from tandem.manifest import load
from tandem.snapshots import Savepoints


def restore(
    manifest: ManifestFile,
    name: SavepointName,
    run_directory: Annotated[
        Path | None, typer.Option(help="The run directory, if the job has one of its own.", show_default=False)
    ] = None,
) -> None:
    """Continue a job from a savepoint, with changed code, options or spec.spark.parallelism: as its next generation.

    A job that runs on this machine is moved one replica at a time, as by tandem upgrade MANIFEST --savepoint NAME. A stopped
    job is started, and stays in the foreground, as by tandem run MANIFEST --savepoint NAME.

    What is published stays published: epochs after the savepoint are computed again for their state, not for readers.

    Exit code 0: done, or stopped as asked; 1: not done; 2, 78: the manifest, Kafka or the store must be fixed.

    Examples:

      tandem savepoint restore flights-2.yaml before-upgrade
    """
    screen = Screen()
    with screen.telling("not restored", manifest):
        lanes = load(manifest).lanes
        for lane in lanes:
            Savepoints(store_of(lane)).get(name)
    if not any(find_local_job(lane.name, folder_of(lane, run_directory)) for lane in lanes):
        run(manifest, run_directory, savepoint=name)
    else:
        upgrade(manifest, name, run_directory)
