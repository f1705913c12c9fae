"""The command `tandem`: wires the commands, each of which is a function in a file of its own."""

from importlib.metadata import version
from typing import Annotated

import typer

from tandem.cli.demo import demo
from tandem.cli.dev import dev_app
from tandem.cli.kill import kill
from tandem.cli.lane_change import lanes
from tandem.cli.new import new
from tandem.cli.run import run
from tandem.cli.savepoint import savepoint_app
from tandem.cli.start import start
from tandem.cli.state import state
from tandem.cli.status import status
from tandem.cli.switchover import drain, promote
from tandem.cli.topics import topics_app
from tandem.cli.upgrade import upgrade
from tandem.cli.validate import validate
from tandem.cli.verify import verify

app = typer.Typer(
    name="tandem",
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


app.command()(new)
app.add_typer(dev_app)
app.command()(run)
app.command()(status)
app.command()(promote)
app.command()(drain)
app.command()(start)
app.command()(upgrade)
app.command()(lanes)
app.command()(kill)
app.command()(validate)
app.command()(verify)
app.command()(state)
app.add_typer(savepoint_app)
app.add_typer(topics_app)
app.command()(demo)
