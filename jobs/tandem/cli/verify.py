"""`tandem verify`: is the output right?"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from confluent_kafka import KafkaException
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from tandem.cli.lanes import Lane, meant
from tandem.cli.validate import ManifestFile, show_problems
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import TandemKafkaError
from tandem.manifest import ManifestError, SecretError, UnknownLaneError, load
from tandem.process.info import ExitCode
from tandem.verify import read
from tandem.verify.report import as_json, print_report

SHOW_PROGRESS_AFTER_S = 2.0


def verify(
    manifest: ManifestFile,
    json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
    wait: Annotated[
        float,
        typer.Option(min=0.0, metavar="SECONDS", help="While input is unread or epochs unpublished, wait that long."),
    ] = 0.0,
    lane: Lane = None,
) -> None:
    """Read a job's logs and output topics, and report what is lost, duplicated or reordered. Changes nothing.

    Where the job's plan makes one row of each input record, or spec.job.oneRowPerRecord says so, the input records are
    counted, too: each must be a row or a dead letter.

    Works while the job runs, and after it. Exit code 0: the output is right; 1: something is lost, duplicated, reordered
    or diverged; 2: no such file; 78: it could not be verified; fix what the message says.

    Examples:

      tandem verify flights.yaml
    """
    out = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
    errors = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)
    try:
        loaded = load(manifest)
        if loaded.spec.ordering.mode == "none":
            errors.print("spec.ordering.mode is none: replicas do not coordinate, so there is nothing to verify")
            raise typer.Exit(ExitCode.REFUSED)
        connection = KafkaConnection(loaded.kafka_properties(os.environ)).silent
        with _progress(errors) as progress:
            reports = {
                one.name: read.verify(connection, read.JobHistory.of(one), wait, progress)
                for one in meant(loaded, lane)
            }
    except ManifestError as error:
        show_problems(out, manifest, error.problems)
        raise typer.Exit(ExitCode.REFUSED) from error
    except (TandemKafkaError, SecretError, KafkaException, UnknownLaneError) as error:
        errors.print(f"not verified: {error}", style="red")
        raise typer.Exit(ExitCode.REFUSED) from error
    if json:
        typer.echo(as_json(loaded.name, reports))
    else:
        for name, report in reports.items():
            print_report(out, name, report)
    raise typer.Exit(ExitCode.OK if all(report.good for report in reports.values()) else ExitCode.FAILED)


@contextmanager
def _progress(console: Console) -> Iterator[read.OnProgress]:
    """A bar on a terminal's error stream, once it has taken two seconds."""
    columns = (TextColumn("reading"), BarColumn(), TaskProgressColumn(), TextColumn("{task.completed:,.0f} records"))
    bar = Progress(*columns, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("reading")
    started = time.monotonic()

    def show(done: int, total: int) -> None:
        if time.monotonic() - started > SHOW_PROGRESS_AFTER_S:
            bar.start()
            bar.update(task, completed=done, total=total)

    try:
        yield show
    finally:
        bar.stop()
