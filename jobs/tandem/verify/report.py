"""What a verification finds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

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

    Parameters
    ----------
    epochs, first_epoch, last_epoch : the published epochs, each once.
    rows : rows of published epochs, each once.
    lost, duplicated, reordered, diverged : sums of the findings' counts.
    dropped : repeats that `tandem.consumer` drops, and repeated markers; expected unless delivery is exactly once.
    skipped : epochs whose rows were given up with their owner; expected when delivery is at most once.
    input_offsets : offsets of the inputs that are in epochs; as many records, where nothing leaves gaps.
    dead_letters : those of the rows that are dead letters.
    findings : the first of each anomaly.
    notes : what could not be checked, and why.
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
