"""`tandem run`: a job's processes on this machine, watched and restarted until somebody stops them."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from confluent_kafka import KafkaException
from rich.console import Console
from rich.text import Text

from tandem.cli.durations import parse_duration
from tandem.cli.lanes import chosen, folder_of
from tandem.cli.running import find_local_job
from tandem.cli.validate import ManifestFile, show_problems, summary
from tandem.cli.view import View, watch
from tandem.engine.jvm.jars import Jars
from tandem.kafka.errors import TandemKafkaError
from tandem.local import LocalJob, LocalJobError, LocalLanes, NewGeneration, port_problems
from tandem.local.changes import changed_start
from tandem.local.lane_change_process import change_in_a_process
from tandem.local.observe import Observer
from tandem.manifest import Manifest, ManifestError, SecretError, UnknownLaneError, check_code, load
from tandem.process.errors import EmbeddedError
from tandem.process.info import ExitCode, RefusedError, stop_on_signals
from tandem.process.surroundings import check_surroundings
from tandem.replica.lanes_before import lanes_before, with_lanes
from tandem.snapshots import SnapshotError

_REFUSALS = (
    LocalJobError,
    UnknownLaneError,
    EmbeddedError,
    SecretError,
    RefusedError,
    SnapshotError,
    TandemKafkaError,
    KafkaException,
    OSError,
)


def run(
    manifest: ManifestFile,
    run_directory: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the logs of the processes, and where status and kill find the job.",
            show_default="$XDG_RUNTIME_DIR/tandem/JOB, or below the temporary files",
            file_okay=False,
        ),
    ] = None,
    pin: Annotated[
        bool, typer.Option("--pin", help="Keep each replica, with its orderer, on a core of its own (Linux).")
    ] = False,
    duration: Annotated[
        float | None,
        typer.Option(
            "--for",
            metavar="DURATION",
            parser=parse_duration,
            help="Stop after that long: 90s, 5m, 1h.",
            show_default="never",
        ),
    ] = None,
    savepoint: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Start the job's next generation from this savepoint: for changed code or parallelism.",
            show_default="continue where the job stopped",
        ),
    ] = "",
    accept_changes: Annotated[
        bool,
        typer.Option(
            "--accept-changes",
            help="Continue with changed code, options, versions or static tables, or with another number of lanes, from the "
            "newest state: as the job's next generation.",
        ),
    ] = False,
    lanes: Annotated[
        str,
        typer.Option(
            metavar="NUMBERS", help="Run only these lanes of a job with spec.lanes, as 0,3.", show_default="all"
        ),
    ] = "",
    screen: Annotated[
        bool, typer.Option("--screen/--no-screen", help="A live screen on a terminal, or a line every few seconds.")
    ] = True,
) -> None:
    """Run a job on this machine: its replicas and orderers, restarted whenever they die.

    Ends on Ctrl-C or SIGTERM (a second Ctrl-C does not wait), after --for, or by itself when a restart cannot help. Kafka,
    ZooKeeper, and the topics of sources and sinks must exist. A second run continues where the first one stopped.

    Exit code 0: stopped as asked; 1: gave up restarting; 2: no such file; 78: refused to run, for example because of errors
    in the manifest; the reason is printed.

    Examples:

      tandem run flights.yaml

      tandem run flights.yaml --for 10m --no-screen

      tandem run flights.yaml --accept-changes

      tandem run flights-2.yaml --savepoint before-upgrade

      tandem run flights.yaml --lanes 0,1

      tandem run flights.yaml --pin --run-directory /tmp/flights-run
    """
    out = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
    loaded = _checked(out, manifest)
    try:
        with out.status("Making sure of Spark's jars …") if out.is_terminal else _nothing():
            Jars.resolve()
        made = []
        named = chosen(loaded, lanes)
        if accept_changes and not savepoint and _change_lanes(loaded, run_directory, some=bool(lanes)):
            accept_changes = False  # nothing else has changed
        for lane in named:
            folder = folder_of(lane, run_directory)
            begins = NewGeneration(savepoint)
            if accept_changes and not savepoint:
                begins = _changed(out, lane, folder)
            made.append(LocalJob(lane, folder, pin, begins=begins))
        job = LocalLanes(made)
        observers = [Observer.of(one) for one in made]
        stopping = stop_on_signals()  # until here, a signal simply ends this command: nothing has been started
        job.start()
    except _REFUSALS as error:
        _say(out, "bold red", str(error))
        raise typer.Exit(ExitCode.REFUSED) from error
    try:
        folders = ", ".join(str(one.run_directory) for one in made[:3]) + (" …" if len(made) > 3 else "")
        out.print(f"Running {summary(loaded)}; logs are in {folders}; Ctrl-C stops it")
        view, live = View(loaded.name, observers), screen and out.is_terminal
        watch(out, view, lambda: job.outcome is None, stopping, live, job.events, duration)
    finally:
        _stop(out, job)
    worst = job.outcome or job.worst  # a lane may have given up while the others ran
    if worst is not None and worst.code != ExitCode.OK:
        _say(out, "bold red", worst.reason)
        raise typer.Exit(worst.code)
    _say(out, "bold green", "stopped" if job.outcome is None else job.outcome.reason)


def _checked(out: Console, path: Path) -> Manifest:
    """The manifest; leaves with every problem of it and of the job's code."""
    try:
        loaded = load(path.absolute())
    except ManifestError as error:
        show_problems(out, path, error.problems)
        raise typer.Exit(ExitCode.REFUSED) from error
    problems = (*check_code(loaded), *check_surroundings(loaded, os.environ), *port_problems(loaded))
    if problems:
        show_problems(out, path, problems)
        raise typer.Exit(ExitCode.REFUSED)
    return loaded


def _changed(out: Console, loaded: Manifest, folder: Path | None) -> NewGeneration:
    """What a job that has changed begins with. Raises `RefusedError`."""
    if find_local_job(loaded.name, folder) is not None:
        raise RefusedError(
            f"{loaded.name} is running. It goes on with what has changed by "
            f"`tandem upgrade {quote(str(loaded.path))}`, or by this command when it is stopped"
        )
    with out.status("Looking for what has changed …") if out.is_terminal else _nothing():
        changed = changed_start(loaded)
    out.print(changed.words[0].upper() + changed.words[1:])
    return NewGeneration(changed.savepoint, changed.generation)


def _change_lanes(job: Manifest, run_directory: Path | None, some: bool) -> bool:
    """Go on with another number of lanes, if it has changed; whether it has. `some`: only of lanes that are named, which
    is refused.

    Raises `RefusedError`.
    """

    def runs(lane: Manifest) -> bool:
        return find_local_job(lane.name, folder_of(lane, run_directory)) is not None

    if not some and any(runs(lane) for lane in job.lanes):
        return False  # who asks for other changes says so
    before = lanes_before(job)
    if not before or before == job.spec.lanes:
        return False
    if some:
        raise RefusedError(
            f"spec.lanes is {job.spec.lanes}, but {job.name} has run with {before} so far: the number of lanes changes for "
            "all of them at once, so leave --lanes out"
        )
    for lane in with_lanes(job, before).lanes:
        if runs(lane):
            raise RefusedError(f"{lane.name} is running: spec.lanes changes while all lanes are stopped")
    change_in_a_process(job, before)
    return True


def _stop(out: Console, job: LocalLanes) -> None:
    """Stop the job; another Ctrl-C or SIGTERM meanwhile ends its processes at once."""
    impatient = stop_on_signals()
    stopper = threading.Thread(target=job.stop)
    with out.status("Stopping …") if out.is_terminal else _nothing():
        stopper.start()
        while stopper.is_alive():
            stopper.join(0.1)
            if impatient.is_set():
                job.kill_all()
    stopper.join()


def _say(out: Console, style: str, text: str) -> None:
    out.print(Text(text, style=style))


@contextmanager
def _nothing() -> Iterator[None]:
    yield None
