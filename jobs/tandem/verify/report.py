"""What a verification finds, and how it is shown: to people, and as JSON to programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

from rich.console import Console
from rich.text import Text

from tandem.protocol.publication_rules import Delivery


class Anomaly(Enum):
    """What can be wrong with an output; the names of Jepsen's Kafka workload where it has one."""

    LOST_WRITE = "lost write"
    DUPLICATE = "duplicate"
    ORDER_INVERSION = "order inversion"
    DIVERGENCE = "divergence"


@dataclass(frozen=True, slots=True)
class Finding:
    """One anomaly: what, where, and how many records, rows or epochs it concerns."""

    anomaly: Anomaly
    text: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class Unseen:
    """What has not come out yet, and may: nothing is wrong with it. All 0 when a job has nothing left to do.

    `input_records`: offsets of the inputs after the last cut. `epochs`: cut, not published. `rows`: visible rows of
    epochs whose marker was not seen.
    """

    input_records: int = 0
    epochs: int = 0
    rows: int = 0

    def __bool__(self) -> bool:
        return bool(self.input_records or self.epochs or self.rows)


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a verification.

    `epochs`, `first_epoch`, `last_epoch` : the published epochs, each once.
    `rows` : rows of published epochs, each once.
    `lost`, `duplicated`, `reordered`, `diverged` : sums of the findings' counts.
    `dropped` : repeats that `tandem.consumer` drops, and repeated markers; expected unless delivery is exactly once.
    `skipped` : epochs whose rows were given up with their owner; expected when delivery is at most once.
    `input_offsets` : offsets of the inputs that are in epochs; as many records, where nothing leaves gaps.
    `dead_letters` : those of the rows that are dead letters.
    `findings` : the first of each anomaly.
    `notes` : what could not be checked, and why.
    """

    delivery: Delivery
    epochs: int
    first_epoch: int | None
    last_epoch: int | None
    rows: int
    lost: int
    duplicated: int
    reordered: int
    diverged: int
    dropped: int
    skipped: int
    unseen: Unseen
    input_offsets: int = 0
    dead_letters: int = 0
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether the output is as its delivery promises."""
        return not (self.lost or self.duplicated or self.reordered or self.diverged)


@dataclass(slots=True)
class Tally:
    """Counts anomalies, and keeps the first findings of each."""

    most: int = 20
    counts: dict[Anomaly, int] = field(default_factory=lambda: dict.fromkeys(Anomaly, 0))
    kept: dict[Anomaly, list[Finding]] = field(default_factory=lambda: {anomaly: [] for anomaly in Anomaly})

    def add(self, finding: Finding) -> None:
        """Count a finding."""
        self.counts[finding.anomaly] += finding.count
        if len(self.kept[finding.anomaly]) < self.most:
            self.kept[finding.anomaly].append(finding)

    def add_all(self, findings: Iterable[Finding]) -> None:
        """Count several."""
        for finding in findings:
            self.add(finding)

    def copy(self) -> Tally:
        """Another one that starts from here."""
        return Tally(self.most, dict(self.counts), {anomaly: list(found) for anomaly, found in self.kept.items()})

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was kept."""
        return tuple(finding for anomaly in Anomaly for finding in self.kept[anomaly])


def as_json(job: str, reports: Mapping[str, Report]) -> str:
    """The report as one JSON object; its fields are those of `Report`, with `job` and `good`.

    `reports` : name → report, of the job or of its lanes; those are in the list `lanes`.
    """
    found = [{"job": name, "good": report.good} | asdict(report) for name, report in reports.items()]
    whole = found[0] if [*reports] == [job] else {"job": job, "good": all(one["good"] for one in found), "lanes": found}
    return json.dumps(whole, default=_plain, indent=2)


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
        taken = f"{report.input_offsets:,}" if report.input_offsets else "an unknown number of"
        gaps = "(records, and the gaps between them)"  # marks of transactions, what was aborted, what compaction took
        out.print(
            f"  the epochs took {taken} offsets of the inputs {gaps}; {report.dead_letters:,} of the rows are dead letters"
        )
    for note in report.notes:
        out.print(Text(f"  note: {note}", style="dim"))


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    raise TypeError(f"no JSON for {type(value).__name__}")
