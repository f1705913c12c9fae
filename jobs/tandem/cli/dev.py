"""`tandem dev`: servers to try a job on this machine."""

import math
import os
import shlex
import signal
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from tandem.cli.dev_records import consume, produce
from tandem.cli.stores import Screen
from tandem.devservers import POSTGRES_USER, PostgresServer
from tandem.devtools.addresses import (
    KAFKA_PORT,
    POSTGRES_PORT,
    REGISTRY_PORT,
    ZOOKEEPER_PORT,
    databases,
    named_elsewhere,
    password_variable,
    postgres_sinks,
)
from tandem.devtools.servers import DevServers, Place, running
from tandem.devtools.streams import partitions_for
from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics
from tandem.manifest import Manifest, load
from tandem.process.info import ExitCode
from tandem.topics.declared import users_topics
from tandem.waiting import Deadline, wait_until

_LOOK_EVERY_S = 0.5
_START = "start"


def _port(what: str) -> Any:
    return typer.Option(min=1, max=65_535, help=what)


class _StartsByDefault(TyperGroup):
    """`tandem dev`, `tandem dev MANIFEST` and `tandem dev --fresh` are `tandem dev start …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        names = {*self.commands, *self.get_help_option_names(ctx)}
        return super().parse_args(ctx, args if args and args[0] in names else [_START, *args])


class _ForOneJob(TyperCommand):
    """Says of a second manifest what to do instead; of itself it would only be called unexpected."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter:
            raise
        except Exception as error:
            if "unexpected extra argument" not in str(getattr(error, "message", "")):
                raise
            raise typer.BadParameter(
                f"{error}. tandem dev takes one manifest, that of the job whose topics and databases it makes. Other jobs "
                "run against the same servers, if their topics are made, for example by kafka-topics.sh --create",
                ctx,
            ) from error


dev_app = typer.Typer(
    name="dev",
    cls=_StartsByDefault,
    help="Run a Kafka, a ZooKeeper and what else a job needs on this machine, send records, and read rows. "
    "`tandem dev [MANIFEST]` is short for `tandem dev start [MANIFEST]`.",
)


@dev_app.command(_START, cls=_ForOneJob)
def start(
    manifest: Annotated[
        Path | None,
        typer.Argument(exists=True, dir_okay=False, readable=True, help="A job whose topics are created."),
    ] = None,
    partitions: Annotated[
        int,
        typer.Option(
            min=1, max=1_000, help="Partitions of each new topic; of a job with lanes, the next multiple of them."
        ),
    ] = 2,
    kafka_port: Annotated[int, _port("Port of Kafka.")] = KAFKA_PORT,
    zookeeper_port: Annotated[int, _port("Port of ZooKeeper.")] = ZOOKEEPER_PORT,
    registry: Annotated[
        bool | None,
        typer.Option("--registry/--no-registry", help="Run a schema registry. Default: if the manifest names one."),
    ] = None,
    registry_port: Annotated[int, _port("Port of the schema registry.")] = REGISTRY_PORT,
    postgres: Annotated[
        bool | None,
        typer.Option("--postgres/--no-postgres", help="Run a PostgreSQL. Default: if the manifest has a sink in one."),
    ] = None,
    postgres_port: Annotated[int, _port("Port of PostgreSQL.")] = POSTGRES_PORT,
    state: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="Folder for the data and logs of the servers.",
            show_default=".tandem/dev beside the manifest, or here",
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start empty, without the kept topics.")] = False,
) -> None:
    """Run a real Kafka and a real ZooKeeper on this machine, until Ctrl-C. Their data is kept for the next start.

    If the manifest has spec.schemaRegistry, a schema registry runs beside them; if it has a postgres sink, a PostgreSQL.

    With a manifest, creates the topics and databases that it reads and writes. Needs Java 17.

    Exit code 0: stopped as asked; 1: a server ended by itself; 2: no such file; 78: it could not start.

    Examples:

      tandem dev job.yaml

      tandem dev job.yaml --fresh --partitions 4

      tandem dev --kafka-port 19092 --zookeeper-port 12181

      tandem dev --registry --postgres --postgres-port 15432
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    screen = Screen()
    base = Path() if manifest is None else manifest.parent
    try:
        with screen.telling("not started", manifest or base):
            job = None if manifest is None else load(manifest)
            place = Place(
                state or base / ".tandem" / "dev",
                kafka_port,
                zookeeper_port,
                registry_port if _wanted(registry, job is not None and job.spec.schema_registry is not None) else None,
                postgres_port if _wanted(postgres, job is not None and bool(postgres_sinks(job))) else None,
            )
            with ExitStack() as stack:
                with screen.doing("Starting the servers (which are downloaded once, about 20 s) …"):
                    servers = stack.enter_context(running(place, fresh))
                _tell(screen, servers, place, job, partitions)
                wait_until(lambda: bool(servers.ended()), Deadline(math.inf), _LOOK_EVERY_S)
                ended = servers.ended()
    except KeyboardInterrupt:
        screen.out.print("stopped; nothing is left running")
        return
    screen.errors.print(ended, style="red")
    raise typer.Exit(ExitCode.FAILED)


def _wanted(asked: bool | None, needed: bool) -> bool:
    return needed if asked is None else asked


def _tell(screen: Screen, servers: DevServers, place: Place, job: Manifest | None, partitions: int) -> None:
    """Make topics and databases, and say what is where and what comes next."""
    say, here = screen.out.print, servers.addresses
    count = partitions if job is None else partitions_for(job, partitions)
    made = [] if job is None else _make_topics(here.kafka, job, count)
    say(f"Kafka      {here.kafka}")
    say(f"ZooKeeper  {here.zookeeper}")
    if here.registry is not None:
        say(f"Registry   {here.registry}")
    if servers.postgres is not None:
        say(f"PostgreSQL {_postgres_line(servers.postgres, job)}")
    if job is not None:
        say(f"Topics     {', '.join(sorted(users_topics(job)))} ({f'made: {len(made)}' if made else 'kept'})")
        if made and count != partitions:
            say(f"           with {count} partitions, not {partitions}: a multiple of spec.lanes, {job.spec.lanes}")
        for difference in named_elsewhere(job, here):
            say(f"{job.path}: {difference}", style="yellow")
    say(f"What they hold is kept in {place.state}; --fresh begins empty. Ctrl-C stops all.")
    say("Next, in another terminal:")
    if servers.postgres is not None:
        where = os.path.relpath(servers.postgres.password_file)
        say(f'  export {password_variable(job)}="$(cat {shlex.quote(where)})"')
    for command in _next_commands(job):
        say(f"  {command}")


def _postgres_line(postgres: PostgresServer, job: Manifest | None) -> str:
    """Make the databases of the job's sinks; says where they are, and how to log in."""
    needed = () if job is None else databases(job, postgres.address)
    made = [name for name in needed if postgres.make_database(name)]
    count = len(needed) or 1
    listed = f"database{'s' * (count > 1)} {', '.join(needed or ('postgres',))}"
    state = f" (made: {len(made)})" if made else ""
    return f"{postgres.address}, {listed}{state}, user {POSTGRES_USER}, password in ${password_variable(job)}"


def _make_topics(bootstrap: str, job: Manifest, partitions: int) -> list[str]:
    """Those of the job's sources and sinks that were not there."""
    topics = Topics(KafkaConnection({"bootstrap.servers": bootstrap}).silent)
    there = topics.all()
    made = sorted(name for name in users_topics(job) if name not in there)
    topics.ensure(NewTopic(name, partitions) for name in made)
    return made


def _next_commands(job: Manifest | None) -> Iterable[str]:
    if job is None:
        return ("tandem new NAME             # a job to begin with",)
    sinks = [sink.name for sink in job.spec.sinks if sink.topic is not None]
    path = shlex.quote(str(job.path))
    return (
        f"tandem run {path}",
        f"tandem dev produce {path} {job.spec.sources[0].name} FILE",
        *(f"tandem dev consume {path} {sink} --from-beginning" for sink in sinks[:1]),
    )


dev_app.command()(produce)
dev_app.command()(consume)
