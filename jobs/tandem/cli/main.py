"""The command `tandem`: where each of its commands is, in a file of its own."""

from importlib.metadata import version
from typing import Annotated, ClassVar

import typer

from tandem.cli.on_demand import OnDemand, Place


class _Commands(OnDemand):
    places: ClassVar = {
        "new": Place(
            "tandem.cli.new",
            "new",
            "Create a folder with a job to start from: its manifest, code, a test, sample records, and a README.",
        ),
        "dev": Place(
            "tandem.cli.dev",
            "dev_app",
            "Run a Kafka, a ZooKeeper and what else a job needs on this machine, send records, and read rows.",
        ),
        "run": Place(
            "tandem.cli.run",
            "run",
            "Run a job on this machine: its replicas and orderers, restarted whenever they die.",
        ),
        "status": Place(
            "tandem.cli.status",
            "status",
            "Show the state of a job that runs on this machine: whether it is safe, who publishes, how far each replica is.",
        ),
        "promote": Place(
            "tandem.cli.switchover",
            "promote",
            "Planned switchover: a standby becomes active, and the replica that it replaces becomes a standby.",
        ),
        "drain": Place(
            "tandem.cli.switchover",
            "drain",
            "End a replica for good, after a standby has taken over from it.",
        ),
        "start": Place(
            "tandem.cli.start",
            "start",
            "Start stopped processes of a running job: drained, stopped by `tandem kill --signal TERM`, or given up.",
        ),
        "upgrade": Place(
            "tandem.cli.upgrade",
            "upgrade",
            "Upgrade a running job to a changed manifest or changed code, one replica at a time.",
        ),
        "lanes": Place(
            "tandem.cli.lane_change",
            "lanes",
            "Change the number of lanes of a stopped job to spec.lanes, from its logs and its snapshot store, "
            "on any machine.",
        ),
        "kill": Place(
            "tandem.cli.kill",
            "kill",
            "Kill, pause, resume or stop one process of a running job, with the JVM and the workers that belong to it.",
        ),
        "validate": Place(
            "tandem.cli.validate",
            "validate",
            "Check a manifest and show all errors at once, one per line: FILE:LINE: FIELD: what is wrong.",
        ),
        "verify": Place(
            "tandem.cli.verify",
            "verify",
            "Read a job's logs and output topics, and report what is lost, duplicated or reordered.",
        ),
        "state": Place(
            "tandem.cli.state",
            "state",
            "Look into a job's state and tables: in its newest snapshot, in a savepoint, or live.",
        ),
        "savepoint": Place(
            "tandem.cli.savepoint",
            "savepoint_app",
            "Named snapshots that stay until they are deleted: to go back, to upgrade, to move a job.",
        ),
        "topics": Place(
            "tandem.cli.topics",
            "topics_app",
            "A job's own topics: its ordering, commits, dead-letter and checkpoints topics.",
        ),
        "demo": Place(
            "tandem.cli.demo",
            "demo",
            "Run two replicas of a job, kill the publishing one with SIGKILL, and restart it.",
        ),
    }


app = typer.Typer(
    name="tandem",
    cls=_Commands,
    help="PySpark streaming jobs in active replicas; each result is published exactly once.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version("tandem-stream"))
        raise typer.Exit


@app.callback()
def tandem(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Run, watch, check and verify replicated streaming jobs."""
