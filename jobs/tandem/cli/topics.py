"""`tandem topics`: a job's own topics: whether they are as they should be, and how to get rid of them."""

import os
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated, Final, NoReturn

import typer

from tandem.cli.durations import parse_duration
from tandem.cli.lanes import Lane, meant
from tandem.cli.running import find_local_job
from tandem.cli.stores import Screen, store_of
from tandem.cli.validate import ManifestFile
from tandem.coordination.presence import replicas_up
from tandem.coordination.zookeeper import ZOOKEEPER_ERRORS
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics
from tandem.manifest import Manifest, load
from tandem.process.info import ExitCode
from tandem.replica.leftovers import is_locked
from tandem.snapshots import remove_all
from tandem.topics.checks import drift_of
from tandem.topics.declared import own_topics
from tandem.topics.lanes_left import gone_lanes, left_by_lanes
from tandem.waiting import Deadline, wait_until

_WATCHED_S: Final = 5.0
"""How long nothing may come into the logs of a job without ZooKeeper."""
_LOOK_EVERY_S: Final = 0.5

topics_app = typer.Typer(
    name="topics",
    help="A job's own topics: its ordering, commits, dead-letter and checkpoints topics.",
    no_args_is_help=True,
)


@topics_app.command()
def check(manifest: ManifestFile, lane: Lane = None) -> None:
    """Show a job's own topics, and how they differ from what Tandem needs.

    Exit code 0: as they should be; 1: they differ, or are missing; 78: the manifest or Kafka must be fixed first.
    """
    screen = Screen()
    with screen.telling("topics cannot be checked", manifest):
        job = load(manifest)
        connection = KafkaConnection(job.kafka_properties(os.environ)).silent
        topics, declared = Topics(connection), _declared(meant(job, lane))
        partitions = topics.all()
        there = [topic.name for topic in declared if topic.name in partitions]
        found = drift_of(declared, partitions, topics.settings(there) if there else {}, connection)
    for topic in declared:
        mine = [one for one in found if one.topic == topic.name]
        screen.out.print(f"{topic.name}: {'; '.join(one.difference for one in mine) or 'as it should be'}")
        for one in mine:
            screen.out.print(f"  {one.remedy}")
    if found:
        raise typer.Exit(ExitCode.FAILED)


@topics_app.command()
def delete(
    manifest: ManifestFile,
    with_snapshots: Annotated[
        bool, typer.Option("--with-snapshots", help="Delete its snapshots and savepoints, too, and first.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    wait: Annotated[
        float,
        typer.Option(metavar="DURATION", parser=parse_duration, help="How long to wait for replicas to end."),
    ] = "30s",  # type: ignore[assignment]
    lane: Lane = None,
) -> None:
    """Delete a job's own topics, never those that it reads and writes.

    The job must not run. Afterwards it can only start from the beginning, and would publish its results again.

    Of a job with lanes: those of all lanes that it has or has had, as their logs tell; with --lane, that lane's, but not the
    dead letters, which all lanes share.

    Exit code 0: deleted; 1: the job runs, or not all could be deleted; 78: the manifest, Kafka or the store must be fixed
    first.

    Examples:

      tandem topics delete flights.yaml

      tandem topics delete flights.yaml --with-snapshots --yes
    """
    screen = Screen()
    with screen.telling("not deleted", manifest):
        job = load(manifest)
        topics = Topics(KafkaConnection(job.kafka_properties(os.environ)).silent)
        there = topics.all()
        lanes = (*meant(job, lane), *(gone_lanes(job, there) if lane is None else ()))
        for one in lanes:
            _refuse_if_it_runs(screen, one, manifest, wait)
        names = left_by_lanes(job, lanes, there)
        if job.spec.zookeeper is None:
            logs = {topic for one in lanes for topic in (one.model.topics.ordering, one.model.topics.commits)}
            _refuse_if_logs_grow(screen, job, topics, logs & set(there))
        stores = [store_of(one) for one in lanes] if with_snapshots and job.spec.snapshots is not None else []
        what = ", ".join([*names, *(["all snapshots and savepoints"] if stores else [])])
        if what and not yes:
            typer.confirm(f"Delete {what} for good?", abort=True)
        # First: a job of that name that begins again must not find the state of one whose log is gone.
        files = sum(map(remove_all, stores))
        topics.delete(names)
    screen.out.print(f"deleted: {', '.join(names) or 'no topic'}" + (f"; {files:,} files" if stores else ""))


def _declared(lanes: Sequence[Manifest]) -> list[NewTopic]:
    """The topics of all lanes and replicas: in mode none each replica has logs of its own."""
    spec = lanes[0].spec
    replicas = range(spec.replicas + spec.standbys if spec.ordering.mode == "none" else 1)
    found = (topic for lane in lanes for n in replicas for topic in own_topics(lane, f"replica-{n}"))
    return list({topic.name: topic for topic in found}.values())


def _refuse_if_it_runs(screen: Screen, job: Manifest, manifest: Path, wait_s: float) -> None:
    """Leave if the job runs on this machine, or anywhere as far as ZooKeeper knows, which learns of a dead one late."""
    why, options = "", job.zookeeper_options(os.environ)
    if find_local_job(job.name, None) is not None:
        why = f"it runs on this machine. Stop `tandem run {quote(str(manifest))}` first"
    elif any(map(is_locked, job.checkpoint_directory.glob(f"{job.name}.*"))):
        why = "it runs on this machine, from another run directory. Stop it first"
    elif options is not None:
        try:
            up = replicas_up(options, job.name, Deadline(wait_s))
        except ZOOKEEPER_ERRORS as error:
            why = f"ZooKeeper at {options['hosts']} does not say whether it runs ({error!r}). Fix that first"
        else:
            why = f"{', '.join(up)} of it are up, as ZooKeeper knows. Stop them first" if up else ""
    if why:
        _leave(screen, job, why)


def _refuse_if_logs_grow(screen: Screen, job: Manifest, topics: Topics, logs: Collection[str]) -> None:
    """Leave if something is written into a job's logs: without ZooKeeper, only they tell that it runs elsewhere."""
    read = partial(topics.ends, topics.partitions(logs), "read_uncommitted")
    before = read()
    with screen.doing("Looking whether the job runs anywhere …"):
        grows = wait_until(lambda: read() != before, Deadline(_WATCHED_S), _LOOK_EVERY_S)
    if grows:
        _leave(screen, job, "records come into its logs, so it runs on some machine. Stop it there first")


def _leave(screen: Screen, job: Manifest, why: str) -> NoReturn:
    screen.errors.print(f"not deleted: job {job.name}: {why}", style="red")
    raise typer.Exit(ExitCode.FAILED)
