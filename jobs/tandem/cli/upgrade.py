"""`tandem upgrade`: a running job gets new code or options, one replica at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated, Final, NoReturn

import typer

from tandem.cli.kept import Generation, name_for
from tandem.cli.lanes import Lane, folder_of, meant
from tandem.cli.running import RunFolder, find_job
from tandem.cli.stores import NoStoreError, Screen
from tandem.cli.validate import ManifestFile
from tandem.local import RunDirectory
from tandem.local.changes import has_other_files, what_has_changed
from tandem.local.upgrade import ObservedJob, Upgrade, UpgradeError
from tandem.local.way_back import check_way_back
from tandem.manifest import CodeNotFoundError, Manifest, load
from tandem.manifest.going_on import accepting_command
from tandem.manifest.identity import lanes_of, parts_of
from tandem.process.info import ExitCode, RefusedError
from tandem.protocol.values import Config
from tandem.replica.lanes_before import how_to_change
from tandem.snapshots import Savepoints

_NOTHING: Final = (
    "nothing has changed that the job's rows depend on, neither its files nor the static tables and other things that its "
    "plan is built from; the job continues unchanged"
)


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

    MANIFEST is a second file with the same metadata.name, which names changed code in other files; or the file that the job
    runs, if only static tables have changed, or other things that the job's plan is built from. One replica after the other
    restarts with it, from a savepoint, and computes the epochs since. The old generation publishes until the first of them
    has caught up. From one epoch on, all rows are the new generation's.

    If the new code cannot continue from the savepoint's state, or does not start, the old generation continues. To go back
    later, upgrade to the old manifest from the same savepoint. One that was interrupted is finished by the same command. For
    a job that is stopped, or takes no snapshots, use tandem run MANIFEST --accept-changes.

    Exit code 0: done; 1: not done, with what runs now; 78: a manifest, Kafka or the store must be fixed first.

    Examples:

      tandem upgrade flights-2.yaml

      tandem upgrade flights.yaml --savepoint generation-1
    """
    screen = Screen()
    with screen.telling("not upgraded", manifest):
        wanted = meant(load(manifest.absolute()), lane)  # processes elsewhere are started with it
        # All are looked at before the first is changed: what is refused of one would leave the others half-way.
        lanes = [_look(screen, new, folder_of(new, run_directory)) for new in wanted]
        if not any(one.change or one.left for one in lanes):
            _leave(screen, UpgradeError(_NOTHING), lanes)
        for one in lanes:
            if one.change:
                _upgrade(screen, one, savepoint, lanes)
            elif one.left:
                _finish(screen, one, lanes)
            else:
                screen.out.print(f"{one.new.name}: nothing has changed")


@dataclass(slots=True)
class _Lane:
    """A job, or one lane of it, and what is to change. `runs`: the generation that it was moved to just now."""

    new: Manifest
    old: Manifest
    directory: RunDirectory
    observed: ObservedJob
    accepted: Config
    change: str
    runs: int | None = None

    @property
    def left(self) -> tuple[str, ...]:
        """The processes that an upgrade to the same manifest, which did not come to its end, has left behind."""
        return self.upgrade(self.accepted.savepoint).left

    def upgrade(self, savepoint: str, say: Callable[[str], None] = lambda _: None, same_files: bool = False) -> Upgrade:
        """The way to the new manifest, from a savepoint."""
        return Upgrade(self.directory, self.old, self.new, savepoint, self.observed, say, same_files=same_files)


def _look(screen: Screen, new: Manifest, run_directory: Path | None) -> _Lane:
    """What has changed of a job that runs, or of one lane; leaves with what is wrong."""
    to_stop = accepting_command(new.path)
    otherwise = f"To continue a stopped job with its changes, run: {to_stop}"
    directory, running = find_job(new.name, run_directory, otherwise)
    old = running.loaded()
    try:
        observed = ObservedJob(old, directory, new)
        accepted = observed.config()
        before = lanes_of(parts_of(accepted.digest))
        if before not in (0, new.spec.lanes):
            to_change = how_to_change(before, to_stop)
            raise RefusedError(f"an upgrade cannot change spec.lanes, which is {new.spec.lanes}. {to_change}")
        with screen.doing("Looking for what has changed …"):
            check_way_back(running, old, accepted, to_stop)
            return _Lane(new, old, directory, observed, accepted, what_has_changed(new, accepted))
    except (UpgradeError, RefusedError, CodeNotFoundError) as error:
        _leave(screen, error, ())


def _upgrade(screen: Screen, lane: _Lane, savepoint: str, lanes: Sequence[_Lane]) -> None:
    """Upgrade a job, or one lane of it; leaves with what went wrong."""
    old, new = lane.old, lane.new
    try:
        name, of = savepoint, ""
        if not name:
            name, epoch = _savepoint(lane)
            of = f" of epoch {epoch:,}"
        screen.out.print(f"upgrading {old.name} from {old.path} to {new.path}, savepoint {name}{of}: {lane.change}")
        same = not has_other_files(new, lane.accepted)
        lane.runs = lane.upgrade(name, screen.out.print, same_files=same).run()
    except (UpgradeError, RefusedError, CodeNotFoundError) as error:
        _leave(screen, error, lanes, new.name)
    back = "" if same else f"; back: tandem upgrade {quote(str(old.path))} --savepoint {quote(name)}"
    screen.out.print(f"{new.name} runs generation {lane.runs}{back}")


def _finish(screen: Screen, lane: _Lane, lanes: Sequence[_Lane]) -> None:
    """Move what an upgrade has left behind; leaves with what went wrong."""
    screen.out.print(
        f"going on with the upgrade of {lane.new.name} to {lane.new.path}: {', '.join(lane.left)} are left"
    )
    try:
        lane.runs = lane.upgrade(lane.accepted.savepoint, screen.out.print).finish()
    except UpgradeError as error:
        _leave(screen, error, lanes, lane.new.name)
    screen.out.print(f"{lane.new.name} runs generation {lane.runs}")


def _leave(screen: Screen, error: Exception, lanes: Sequence[_Lane], name: str = "") -> NoReturn:
    """Say why the upgrade ends, and with several `lanes` of which one, and how far the others are."""
    goes_on = "" if isinstance(error, UpgradeError) else "; the job continues unchanged"
    which = f"{name}: " if name and len(lanes) > 1 else ""
    screen.errors.print(f"not upgraded: {which}{error}{goes_on}", style="red")
    if moved := [one.new.name for one in lanes if one.runs is not None]:
        screen.errors.print(
            f"{', '.join(moved)} run the new generation. The same command goes on with the others", style="red"
        )
    raise typer.Exit(ExitCode.FAILED if isinstance(error, UpgradeError) else ExitCode.REFUSED) from error


def _savepoint(lane: _Lane) -> tuple[str, int]:
    """Name the newest snapshot; returns the name and the epoch. A savepoint of the same state is taken as it is."""
    generation = lane.accepted.generation + 1
    try:
        chosen = Generation.of(lane.old).newest()
    except NoStoreError as error:
        raise UpgradeError(
            "a running job's next generation starts from a savepoint, and this job takes no snapshots. Stop it, and start "
            f"it with: {accepting_command(lane.new.path)}, which needs none. The job continues unchanged"
        ) from error
    listing = Savepoints(chosen.generation.store).list()
    name = name_for(chosen.snapshot, f"generation-{generation}", listing)
    if name not in listing.names:
        chosen.keep(name)
    return name, chosen.snapshot.epoch
