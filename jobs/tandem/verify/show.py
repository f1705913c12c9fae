"""A report for people, and as JSON for programs."""

import json
from dataclasses import asdict
from enum import Enum
from typing import Any

from rich.console import Console
from rich.text import Text

from tandem.verify.report import Report


def as_json(job: str, report: Report) -> str:
    """The report as one JSON object; its fields are those of `Report`, with `job` and `good`."""
    return json.dumps({"job": job, "good": report.good} | asdict(report), default=_plain, indent=2)


def print_report(out: Console, job: str, report: Report) -> None:
    """The report in a few lines: what was looked at, the verdict, the anomalies, what is unseen, notes."""
    span = (
        "no epoch" if not report.epochs else f"{report.epochs:,} epochs ({report.first_epoch} to {report.last_epoch})"
    )
    out.print(Text.assemble((job, "bold"), f": {span} published with {report.rows:,} rows, {report.delivery.value}"))
    verdict = Text("  ")
    counts = {"lost": report.lost, "duplicated": report.duplicated, "reordered": report.reordered}
    counts |= {"diverged": report.diverged} if report.diverged else {}
    for position, (name, count) in enumerate(counts.items()):
        style = "bold red" if count else "bold green"
        verdict.append(", " if position else "").append(f"{count:,} {name}", style)
    out.print(verdict)
    for finding in report.findings:
        out.print(Text.assemble("  ", (f"{finding.anomaly.value}: ", "red"), finding.text))
    if report.dropped:
        out.print(f"  {report.dropped:,} repeated rows, which tandem.consumer drops")
    if report.skipped:
        out.print(f"  {report.skipped:,} epochs whose rows were given up with their owner")
    unseen = report.unseen
    if unseen:
        out.print(
            f"  unseen yet: {unseen.input_records:,} input records not in an epoch, {unseen.epochs:,} epochs not published, "
            f"{unseen.rows:,} rows before their marker"
        )
    if report.input_offsets or report.dead_letters:
        taken = (
            f"{report.input_offsets:,} input records" if report.input_offsets else "an unknown number of input records"
        )
        out.print(f"  the epochs took {taken}; {report.dead_letters:,} of the rows are dead letters")
    for note in report.notes:
        out.print(Text(f"  note: {note}", style="dim"))


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    raise TypeError(f"no JSON for {type(value).__name__}")
