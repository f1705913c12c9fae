"""`tandem upgrade`: a running job gets new code or options, one replica at a time."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tandem.cli.lanes import Lane, folder_of, meant
from tandem.cli.running import RunFolder, find_job
from tandem.cli.stores import NoStoreError, Screen, store_of
from tandem.cli.validate import ManifestFile
from tandem.kafka.client import KafkaConnection
from tandem.local.changes import has_other_files, what_has_changed
from tandem.local.upgrade import ObservedJob, Upgrade, UpgradeError
from tandem.manifest import CodeNotFoundError, Manifest, load
from tandem.manifest.going_on import accepting_command
from tandem.process.info import ExitCode, RefusedError
from tandem.snapshots import Savepoints, newest_snapshot
from tandem.state import inputs_of


def upgrade(
    manifest: ManifestFile,
    savepoint: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The savepoint from which the new generation starts.",
            show_default="a new one, generation-N",
        ),
    ] = "",
    run_directory: RunFolder = None,
    lane: Lane = None,
) -> None:
    """Upgrade a running job to a changed manifest or changed code, one replica at a time.

    MANIFEST is a second file with the same metadata.name; or the file that the job runs, if only static tables have changed,
    or other things that the job's plan is built from. One replica after the other restarts with it, from a savepoint, and
    computes the epochs since. The old generation publishes until the first of them has caught up. From one epoch on, all
    rows are the new generation's.

    If the new code cannot continue from the savepoint's state, or does not start, the old generation continues. To go back
    later, upgrade to the old manifest from the same savepoint. For a job that is stopped, or takes no snapshots, use
    tandem run MANIFEST --accept-changes.

    Exit code 0: done; 1: not done, with what runs now; 78: a manifest, Kafka or the store must be fixed first.

    Examples:

      tandem upgrade flights-2.yaml

      tandem upgrade flights.yaml --savepoint generation-1
    """
    screen = Screen()
    with screen.telling("not upgraded", manifest):
        for new in meant(load(manifest), lane):
            _upgrade(screen, new, savepoint, folder_of(new, run_directory))


def _upgrade(screen: Screen, new: Manifest, savepoint: str, run_directory: Path | None) -> None:
    """Upgrade a job, or one lane of it; leaves with what went wrong."""
    otherwise = f"To continue a stopped job with its changes, run: {accepting_command(new.path)}"
    directory, running = find_job(new.name, run_directory, otherwise)
    old = running.loaded()
    try:
        observed = ObservedJob(old, directory)
        accepted = observed.config()
        with screen.doing("Looking for what has changed …"):
            change = what_has_changed(new, accepted)
        if not change:
            raise UpgradeError(
                "nothing has changed that the job's rows depend on, neither its files nor the static tables and other "
                "things that its plan is built from; the job continues unchanged"
            )
        name = savepoint or _savepoint(old, new, accepted.generation + 1)
        screen.out.print(f"upgrading {old.name} from {old.path} to {new.path}, savepoint {name}: {change}")
        same_files = not has_other_files(new, accepted)
        generation = Upgrade(directory, old, new, name, observed, screen.out.print, same_files=same_files).run()
    except UpgradeError as error:
        screen.errors.print(f"not upgraded: {error}", style="red")
        raise typer.Exit(ExitCode.FAILED) from error
    except (RefusedError, CodeNotFoundError) as error:
        screen.errors.print(f"not upgraded: {error}; the job continues unchanged", style="red")
        raise typer.Exit(ExitCode.REFUSED) from error
    back = "" if same_files else f"; back: tandem upgrade {old.path} --savepoint {name}"
    screen.out.print(f"{new.name} runs generation {generation}{back}")


def _savepoint(job: Manifest, new: Manifest, generation: int) -> str:
    """Name the newest snapshot; the name is kept if a try before this one has made it."""
    try:
        store = store_of(job)
    except NoStoreError as error:
        raise UpgradeError(
            "a running job's next generation starts from a savepoint, and this job takes no snapshots. Stop it, and start "
            f"it with: {accepting_command(new.path)}, which needs none. The job continues unchanged"
        ) from error
    savepoints, name = Savepoints(store), f"generation-{generation}"
    if name not in savepoints.list().names:
        snapshot = newest_snapshot(store)
        connection = KafkaConnection(job.kafka_properties(os.environ)).silent
        savepoints.create(name, snapshot, inputs_of(job, connection, snapshot))
    return name
