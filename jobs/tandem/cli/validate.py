"""`tandem validate`: every mistake of a manifest at once."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from tandem.manifest import Manifest, ManifestError, Problem, check_code, load
from tandem.manifest.notes import notes
from tandem.manifest.problems import place


def validate(
    manifest: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, readable=True, help="The YAML file of a ReplicatedStreamJob."),
    ],
    job: Annotated[
        bool,
        typer.Option(
            "--job/--no-job", help="Look at the job's code too: it must parse and take the sources (nothing is run)."
        ),
    ] = True,
) -> None:
    """Check a manifest and show every mistake at once, one a line: FILE:LINE: FIELD: what is wrong. How to mend it.

    Exit code 0: valid; 1: mistakes were found; 2: there is no such file.

    Examples:

      tandem validate flights.yaml

      tandem validate flights.yaml --no-job
    """
    out = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
    try:
        loaded = load(manifest)
        problems = check_code(loaded) if job else ()
    except ManifestError as error:
        problems = error.problems
    except OSError as error:
        raise typer.BadParameter(f"cannot read {manifest}: {error.strerror}") from error
    if problems:
        show_problems(out, manifest, problems)
        raise typer.Exit(1)
    show_problems(out, manifest, notes(loaded), "yellow")
    out.print(Text.assemble(f"{manifest}: ", ("valid", "bold green"), f" ({summary(loaded)})"))


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
