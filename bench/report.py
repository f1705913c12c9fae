"""What a bench found, as JSON and as a table in Markdown."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import psutil

from bench.analysis import KillSeries
from bench.measures import Failure, KillRun, Row, Target
from bench.plan import Settings
from bench.targets import targets

NOTES = (
    "Latency: from a record's creation to its arrival at a read_committed consumer, every record of the window. Count: one "
    "row per changed key and epoch, its latency from the newest record that contributed; q3 and q8: from the later "
    "one of the two.",
    "A replica is pinned to a core of its own with its orderer, plain Spark to one core. Broker, ZooKeeper, feeder and "
    "reader are not pinned: they take what `around` says. On two cores they have one to themselves beside one replica or "
    "plain Spark, and none beside two replicas.",
    "Plain Spark: built-in Kafka source and sink, at least once, an unsupported mix of versions of the connector. Both have "
    "`kafka.fetch.max.wait.ms=20` and one partition of state. `tuned`: every setting of a replica's session, checkpoint in "
    "memory, one task per batch. `compiled`: that with code generation.",
    "Flink: JobManager and TaskManager on one core, SQL, one slot; exactly once, rows become visible with a checkpoint.",
    "Memory: proportional set size of all processes of a replica, its orderer included. Phases: mean ms per epoch; "
    "`publish` and `encode` are spread over the replicas, as the work is. `foreign`: CPU of everything else on the machine.",
    "A gap around a kill: longest time without output in [kill − 1 s, kill + 10 s] (where nobody takes over: + 30 s), "
    "beside that of an equally long stretch right before.",
)


@dataclass
class Results:
    """All that was measured so far."""

    settings: Settings
    command: str
    started: str
    rows: list[Row] = field(default_factory=list)
    kill_runs: list[KillRun] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    series: dict[str, list[KillSeries]] = field(default_factory=dict)

    @property
    def targets(self) -> list[Target]:
        """What had to be reached."""
        return targets(self.rows, self.kill_runs)

    def write(self, folder: Path) -> None:
        """Write `results.json` and `table.md`."""
        folder.mkdir(parents=True, exist_ok=True)
        tree = {
            "started": self.started,
            "command": self.command,
            "machine": machine(),
            "settings": asdict(self.settings),
            "rows": [asdict(row) for row in self.rows],
            "kills": [asdict(run) for run in self.kill_runs],
            "failures": [asdict(failure) for failure in self.failures],
            "targets": [asdict(target) for target in self.targets],
        }
        (folder / "results.json").write_text(json.dumps(tree, indent=1) + "\n")
        (folder / "table.md").write_text(self.table())

    def table(self) -> str:
        """All figures for people, in Markdown."""
        facts = machine()
        head = (
            f"`{self.command}`, {self.started}, {facts['cores']} cores ({facts['processor']}), "
            f"{facts['memory_gb']} GB, Python {facts['python']}"
        )
        parts = [head, *_steady(self.rows), *_phases(self.rows), *_kills(self.kill_runs)]
        if self.targets:
            parts += ["## Targets", target_table(self.targets)]
        if self.failures:
            rows = [(f.configuration, f.job, f.reason.splitlines()[0][:200]) for f in self.failures]
            parts += ["## Not measured", markdown(("configuration", "job", "reason"), rows)]
        return "\n\n".join([*parts, "## Notes", "\n".join(f"- {note}" for note in NOTES)]) + "\n"


def machine() -> dict[str, object]:
    """What matters of this machine; nothing that names it."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "processor": _processor(),
        "memory_gb": round(psutil.virtual_memory().total / 1e9),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _steady(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    titles = (
        *("configuration", "job", "rate/s", "round", "p1", "p25", "p50", "p75", "p99", "max", "longest gap", "rows/s"),
        *("epochs/s", "MB", "cores", "around", "foreign", "lost", "duplicated", "reordered"),
    )
    lines = [
        (
            *(row.configuration, row.job, row.rate, row.round + 1),
            *(f"{value:.0f}" for value in (row.latency.p1, row.latency.p25, row.latency.p50, row.latency.p75)),
            *(f"{value:.0f}" for value in (row.latency.p99, row.latency.max, row.longest_gap, row.rows_per_s)),
            "" if row.epochs_per_s is None else f"{row.epochs_per_s:.1f}",
            *(f"{row.memory:.0f}", f"{row.cpu:.2f}", f"{row.around_cpu:.2f}", f"{row.foreign_cpu:.2f}"),
            *(("", "", "") if row.faults is None else (row.faults.lost, row.faults.duplicated, row.faults.reordered)),
        )
        for row in rows
    ]
    return ["## Latency (ms) without failures", markdown(titles, lines)]


def _phases(rows: Sequence[Row]) -> list[str]:
    names = list(dict.fromkeys(name for row in rows for name in row.phases))
    if not names:
        return []
    lines = [
        (row.configuration, row.job, row.rate, row.round + 1, *(f"{row.phases.get(name, 0.0):.1f}" for name in names))
        for row in rows
        if row.phases
    ]
    return [
        "## Where an epoch's time goes (mean ms)",
        markdown(("configuration", "job", "rate/s", "round", *names), lines),
    ]


def _kills(runs: Sequence[KillRun]) -> list[str]:
    if not runs:
        return []
    titles = (
        *("configuration", "job", "rate/s", "kills", "gap: median", "worst", "without a kill: median", "median ratio"),
        *("computing after s", "at head after s: median", "worst", "latency back within 10 % after s: median", "worst"),
        *("lost", "duplicated", "reordered"),
    )
    lines = [
        (
            *(run.configuration, run.job, run.rate, len(run.kills)),
            *(_of([k.gap for k in run.kills]), _of([k.gap for k in run.kills], max)),
            *(_of([k.gap_before for k in run.kills]), _of([k.ratio for k in run.kills], digits=2)),
            _of([k.computing_s for k in run.kills], digits=1),
            *(_of([k.at_head_s for k in run.kills], digits=1), _of([k.at_head_s for k in run.kills], max, 1)),
            *(_of([k.latency_back_s for k in run.kills], digits=1), _of([k.latency_back_s for k in run.kills], max, 1)),
            *(run.faults.lost, run.faults.duplicated, run.faults.reordered),
        )
        for run in runs
    ]
    return ["## Output around a SIGKILL (gaps in ms)", markdown(titles, lines)]


def _of(values: Sequence[float | None], pick: Callable[[list[float]], float] = median, digits: int = 0) -> str:
    known = [value for value in values if value is not None]
    return f"{pick(known):.{digits}f}" if known else ""


def target_table(found: Sequence[Target]) -> str:
    """Targets, what was measured, and whether that reached them."""

    def line(target: Target) -> tuple[str, str, str, str]:
        value = "" if target.value is None else f"{target.value:.2f}"
        return target.name, target.limit, value, "yes" if target.reached else "NO"

    return markdown(("target", "limit", "measured", ""), [line(target) for target in found])


def markdown(titles: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    """A table."""
    rows = [titles, ["---"] * len(titles), *lines]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "/") for cell in row) + " |" for row in rows)
