"""`tandem new`: the files of a job that runs as it is."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from tandem.devtools.new_job import NewJobError, make_job
from tandem.process.info import ExitCode


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the job and its folder: lower-case letters, digits and '-'.")
    ],
    directory: Annotated[
        Path, typer.Option(file_okay=False, help="Where to create the folder.", show_default="here")
    ] = Path(),
) -> None:
    """Create a folder with a job to start from: its manifest, code, a test, sample records, and a README.

    It counts orders by product, and runs unchanged against the servers of tandem dev.

    Exit code 0: created; 1: it could not be written; 2: invalid name, or the folder exists already.

    Examples:

      tandem new orders

      tandem new orders --directory jobs
    """
    try:
        folder = make_job(name, directory)
    except NewJobError as error:
        typer.echo(f"not made: {error}", err=True)
        raise typer.Exit(ExitCode.USAGE) from error
    except OSError as error:
        typer.echo(f"not made: {error}", err=True)
        raise typer.Exit(ExitCode.FAILED) from error
    typer.echo(f"{folder} has {', '.join(sorted(path.name for path in folder.iterdir()))}. Next:")
    typer.echo(f"  cd {quote(str(folder))}")
    typer.echo("  tandem dev job.yaml    # a Kafka and a ZooKeeper to try it; README.md has what follows")
