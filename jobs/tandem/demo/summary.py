"""The outcome of a run: what a reader saw before the kill, while the replica was away, and after. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tandem.demo.latency import Created, Gap, Latencies, SeenEpoch, latencies, longest_gap, unpublished
from tandem.verify.report import Report


@dataclass(frozen=True, slots=True)
class Timeline:
    """When what happened, ms of one clock. `returned_ms`: the killed replica had caught up; NaN if it never did.

    `killed_ms` is NaN if nothing was killed. What came before `started_ms` was warm-up.
    """

    started_ms: float
    ended_ms: float
    killed_ms: float = math.nan
    returned_ms: float = math.nan
    victim: str = ""


@dataclass(frozen=True, slots=True)
class Phase:
    """The latency of the records that were created in a phase, ms; NaN without records."""

    name: str
    records: int
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Summary:
    """`published`: input records of published epochs. `gap`, `gap_before`: from the kill on, and before it."""

    published: int
    lost: int
    duplicated: int
    reordered: int
    diverged: int
    gap: Gap
    gap_before: Gap
    phases: tuple[Phase, ...]
    findings: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether the output is right; no output is not."""
        return self.published > 0 and not (self.lost or self.duplicated or self.reordered or self.diverged)

    @property
    def line(self) -> str:
        """Everything in one line."""
        verdict = f"published {self.published:,}, lost {self.lost:,}, duplicated {self.duplicated:,}, "
        verdict += f"reordered {self.reordered:,}" + (f", diverged {self.diverged:,}" if self.diverged else "")
        gap = f"longest gap {self.gap.ms:,.0f} ms (before the kill {self.gap_before.ms:,.0f} ms)"
        phases = ", ".join(f"{p.name} {_ms(p.p50_ms)}/{_ms(p.p99_ms)}" for p in self.phases)
        return f"{verdict}; {gap}; p50/p99 in ms: {phases}"


def summarize(created: Created, epochs: Sequence[SeenEpoch], timeline: Timeline, report: Report) -> Summary:
    """Put together what was fed, what arrived and what the verifier found.

    A record that was fed and is in no published epoch when all waiting is over counts as lost.
    """
    seen = latencies(created, epochs)
    arrived = [epoch.arrived_ms for epoch in epochs]
    killed = timeline.ended_ms if math.isnan(timeline.killed_ms) else timeline.killed_ms
    missing = unpublished(created, epochs)
    return Summary(
        published=len(seen),
        lost=report.lost + missing,
        duplicated=report.duplicated,
        reordered=report.reordered,
        diverged=report.diverged,
        gap=longest_gap(arrived, max((at for at in arrived if at <= killed), default=killed), timeline.ended_ms),
        gap_before=longest_gap(arrived, timeline.started_ms, killed),
        phases=_phases(seen, timeline),
        findings=tuple(f"{finding.anomaly.value}: {finding.text}" for finding in report.findings)
        + ((f"{missing:,} records were fed but not published in time",) if missing else ()),
    )


def _phases(seen: Latencies, timeline: Timeline) -> tuple[Phase, ...]:
    killed = timeline.ended_ms if math.isnan(timeline.killed_ms) else timeline.killed_ms
    returned = timeline.ended_ms if math.isnan(timeline.returned_ms) else timeline.returned_ms
    edges = (("before", timeline.started_ms, killed), ("during", killed, returned), ("after", returned, math.inf))
    parts = [(name, seen.between(start, end)) for name, start, end in edges]
    return tuple(Phase(name, len(part), part.quantile(0.5), part.quantile(0.99)) for name, part in parts)


def _ms(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:,.0f}"
