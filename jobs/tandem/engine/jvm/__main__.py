"""`python -m tandem.engine.jvm` resolves the jars into the cache and prints their folder."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tandem.engine.jvm.jars import Jars, install_file_system_jar
from tandem.process.errors import EmbeddedError


def main(
    file_system: Annotated[
        Path | None, typer.Option(help="Put only the jar that a replica needs into this folder (for an image)")
    ] = None,
) -> None:
    """Exit with 1 and the reason if the jars cannot be had."""
    errors = Console(stderr=True)
    try:
        if file_system is not None:
            print(install_file_system_jar(file_system))
            return
        with errors.status("Resolving Kafka's jars (once, about 20 s) …"):
            jars = Jars.resolve()
    except EmbeddedError as error:
        errors.print(str(error), style="red", markup=False, soft_wrap=True)
        sys.exit(1)
    print(jars.folder)


if __name__ == "__main__":
    typer.run(main)
