"""`tandem validate`: every mistake of a manifest at once."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from tandem.local import port_problems
from tandem.manifest import Manifest, ManifestError, Problem, check_code, load
from tandem.manifest.notes import notes
from tandem.manifest.problems import place
from tandem.process.info import ExitCode, begin_with_hash_seed
from tandem.process.surroundings import check_surroundings

ManifestFile = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="The YAML file of a ReplicatedStreamJob.")
]


def validate(
    manifest: ManifestFile,
    job: Annotated[
        bool,
        typer.Option(
            "--job/--no-job", help="Check the job's code, too: it must parse and take the sources (nothing is run)."
        ),
    ] = True,
    deep: Annotated[
        bool,
        typer.Option(
            "--deep",
            help="Start Spark and build the job's plan, as a replica does; check the tables' file systems. Kafka and "
            "ZooKeeper are not needed.",
        ),
    ] = False,
) -> None:
    """Check a manifest and show all errors at once, one per line: FILE:LINE: FIELD: what is wrong. How to correct it.

    Files and packages that are missing on this machine are errors, too, unless the manifest is for Kubernetes (it has an
    image, a podTemplate or a configMap): then they are noted.

    Exit code 0: valid; 1: errors were found; 2: no such file; 78: with --deep, a replica would refuse to run.

    Examples:

      tandem validate flights.yaml

      tandem validate flights.yaml --no-job

      tandem validate flights.yaml --deep
    """
    out = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
    try:
        loaded = load(manifest)
        missing = (*check_surroundings(loaded, os.environ), *port_problems(loaded))
        noted = (*notes(loaded), *(missing if loaded.runs_elsewhere else ()))
        problems = (*(check_code(loaded) if job else ()), *(() if loaded.runs_elsewhere else missing))
    except ManifestError as error:
        problems = error.problems
    except OSError as error:
        raise typer.BadParameter(f"cannot read {manifest}: {error.strerror}") from error
    if problems:
        show_problems(out, manifest, problems)
        raise typer.Exit(1)
    if deep:
        begin_with_hash_seed()
    show_problems(out, manifest, noted, "yellow")
    if deep:
        _look_deep(out, loaded)
    out.print(Text.assemble(f"{manifest}: ", ("valid", "bold green"), f" ({summary(loaded)})"))


def _look_deep(out: Console, manifest: Manifest) -> None:
    from tandem.cli.deep import REFUSED, look_deep  # Spark takes a second to import

    try:
        choice = look_deep(manifest)
    except REFUSED as error:
        out.print(Text.assemble((f"{manifest.path}: ", "bold"), (str(error), "red")))
        raise typer.Exit(ExitCode.REFUSED) from error
    if manifest.spec.engine == "auto":
        out.print(Text.assemble((f"{manifest.path}: ", "bold"), f"spec.engine: auto is {choice.words}"))


def show_problems(out: Console, file: Path, problems: Iterable[Problem], style: str = "red") -> None:
    """Print problems, one a line, so that editors and grep can find their places."""
    for problem in problems:
        field = f"{problem.path}: " if problem.path else ""
        remedy = f" {problem.remedy}" if problem.remedy else ""
        out.print(
            Text.assemble(
                (place(file, problem.line), "bold"), (field, "cyan"), (f"{problem.message}.", style), (remedy, "green")
            )
        )


def summary(manifest: Manifest) -> str:
    """The job in one line."""
    spec = manifest.spec
    parts = (
        manifest.name,
        _count(spec.replicas, "replica"),
        spec.ordering.mode if spec.ordering.mode != "none" else "no ordering",
        spec.delivery,
        _count(len(spec.sources), "source"),
        _count(len(spec.sinks), "sink"),
    )
    return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
