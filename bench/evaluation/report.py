"""`python -m bench.evaluation.report OUT`: Markdown and plots from an evaluation's files alone, also of some of its runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from bench.evaluation.configurations import STRIKES
from bench.evaluation.folder import Folder, FolderError
from bench.evaluation.pictures import (
    Panels,
    Rounds,
    plot_boxes,
    plot_compared,
    plot_outages,
    plot_series,
    plot_usage,
    titled,
)
from bench.evaluation.plan import RunSpec, to_do
from bench.evaluation.record import Plan, RunRecord
from bench.evaluation.results import RunResult, growths, of_all, result_of
from bench.evaluation.targets import targets
from bench.faults import PAUSE_S, SLOW_SHARE
from bench.report import markdown, target_table

NOTES = (
    "Latency: from a record's creation to its arrival at a `read_committed` consumer, every record of the window. Count: "
    "from the newest record that contributed. Boxes p25/p50/p75, whiskers p1/p99.",
    "Outage: the longest time without output from 1 s before a fault until its time (settings: followed for) is over, "
    "beside that of an equally long stretch before it, which may hold the last part of an earlier return. Until all are "
    "back: also while who was killed starts again. With lanes: of the lane that was struck, and of the others. "
    "Catch-up: until the latency of half a second is within a tenth of what it was before the fault; ≥: it was not, for so "
    "long.",
    "A replica is pinned to a core of its own with its orderer, plain Spark and Flink to one core. Broker, ZooKeeper, "
    "feeder and reader are not pinned: beside two replicas two cores leave them none. Plain Spark is at least once, with an "
    "unsupported mix of versions of its connector. `no-ordering`: of a row the first copy counts.",
    "A kill is a SIGKILL of an active replica with its orderer, of plain Spark, or of Flink's TaskManager; what was killed "
    f"is restarted at once. Who is paused stands still for {PAUSE_S:g} s. A slow replica, with its orderer, runs for "
    f"{SLOW_SHARE:.0%} of the time.",
    "Cores and memory (proportional set size): all processes of the system, all replicas, orderers and lanes included. "
    "Foreign: whatever else the machine did; trust no row with more than 0.1.",
    "Other topics: what the broker's logs grew by for topics that are neither input nor output, over that of the output.",
)

_SETTLED_S = 300.0


def write_report(folder: Folder) -> Path:
    """Write `report.md` and its plots into the folder; return its path. Raises `FolderError` if it has no plan."""
    plan, records = folder.plan(), folder.records()
    left = {spec.id for spec in to_do(plan.runs, {name: record.spec for name, record in records.items()})}
    done = [records[spec.id] for spec in plan.runs if spec.id not in left]
    results = [result_of(record, folder.arrivals(record.spec)) for record in done]
    missing = [(spec, folder.failures().get(spec.id, "")) for spec in plan.runs if spec.id in left]
    groups = of_all(results)
    steady: Panels = {key: rounds for key, rounds in groups.items() if key[2] not in STRIKES}
    killed: Panels = {key: rounds for key, rounds in groups.items() if key[2] in STRIKES}
    parts = [*_head(plan, done), *_missing(missing, len(plan.runs)), *_troubled(done)]
    if steady:
        parts += ["## Latency while nothing dies", *_pictured(plot_boxes, steady, folder.path / "latency.png")]
        parts += [f"### {titled(key)}\n\n{_latency_table(rounds)}" for key, rounds in steady.items()]
    if killed:
        parts += ["## Output around faults", *_pictured(plot_outages, killed, folder.path / "outages.png")]
        parts += [f"### {titled(key)}\n\n{_kill_table(rounds)}" for key, rounds in killed.items()]
        parts += ["## Latency over time, with faults", *_all_series(killed, folder.path)]
    if groups:
        parts += ["## Processor and memory", *_pictured(plot_usage, groups, folder.path / "usage.png")]
        parts += [_usage_table(results), *_growth_table(results)]
    found = targets(results)
    parts += ["## Targets", target_table(found)] if found else []
    parts += ["## Notes", "\n".join(f"- {note}" for note in NOTES)]
    path = folder.path / "report.md"
    path.write_text("\n\n".join(parts) + "\n")
    return path


def _head(plan: Plan, done: Sequence[RunRecord]) -> list[str]:
    parts = [f"# Evaluation, scale {plan.scale}", f"    {plan.command}"]
    parts += ["\n".join(f"- **{name}**: {about}" for name, about in plan.about.items())] if plan.about else []
    facts = [
        ("machine", _each(", ".join(f"{key} {value}" for key, value in record.machine.items()) for record in done)),
        ("versions", _each(", ".join(f"{key} {value}" for key, value in record.versions.items()) for record in done)),
        ("commands", _each(f"`{record.command}`" for record in done)),
        ("measured", f"{min(r.started for r in done)} to {max(r.started for r in done)}" if done else ""),
        ("settings", _each(_settings(record.spec) for record in done)),
    ]
    return [*parts, markdown(("of the runs", ""), [fact for fact in facts if fact[1]])] if done else parts


def _settings(spec: RunSpec) -> str:
    timing = (
        f"faults {spec.kills}, each followed for {spec.after_s:g} s" if spec.kills else f"window {spec.window_s:g} s"
    )
    return f"warm-up {spec.warm_up_s:g} s, {timing}, seed {spec.seed}"


def _missing(missing: Sequence[tuple[RunSpec, str]], planned: int) -> list[str]:
    if not missing:
        return [f"All {planned} runs are done."]
    lines = [f"- `{spec.id}`: {_first_line(reason) if reason else 'not run yet'}" for spec, reason in missing]
    return [f"## Missing: {len(missing)} of {planned} runs", "\n".join(lines)]


def _troubled(done: Sequence[RunRecord]) -> list[str]:
    lines = [f"- `{record.spec.id}`: {record.trouble}" for record in done if record.trouble]
    return [f"## With fewer faults than planned: {len(lines)} runs", "\n".join(lines)] if lines else []


def _latency_table(rounds: Rounds) -> str:
    titles = (
        *("configuration", "rounds", "p1 ms", "p25", "p50", "p75", "p99", "max", "longest gap ms", "rows/s"),
        *("lost", "duplicated", "reordered", "foreign cores"),
    )
    lines = []
    for name, many in rounds.items():
        known = [one.latency for one in many if one.latency is not None]
        percentiles = [_range([getattr(one, p) for one in known]) for p in ("p1", "p25", "p50", "p75", "p99", "max")]
        gaps, rates = _range([one.longest_gap for one in many]), _range([one.rows_per_s for one in many])
        lines.append(
            (name, len(many), *percentiles, gaps, rates, *_delivered(many), _range([o.foreign for o in many], 2))
        )
    return markdown(titles, lines)


def _kill_table(rounds: Rounds) -> str:
    titles = (
        *(
            "configuration",
            "faults",
            "outage ms: median",
            "worst",
            "before a fault: median",
            "until all are back: worst",
            "other lanes: worst",
            "catch-up s: median",
            "worst",
        ),
        *("all at the head after s: median", "lost", "duplicated", "reordered", "foreign cores"),
    )
    lines = []
    for name, many in rounds.items():
        kills = [kill for one in many for kill in one.kills]
        never = "≥ " if any(kill.catch_up_s >= kill.followed_s for kill in kills) else ""
        outages, catch_ups = [kill.outage for kill in kills], [kill.catch_up_s for kill in kills]
        lines.append(
            (
                *(name, len(kills), _of(median, outages), _of(max, outages), _of(median, [k.before for k in kills])),
                *(_of(max, [k.until_back for k in kills]), _of(max, [k.others for k in kills])),
                *(_of(median, catch_ups, 1), f"{never}{_of(max, catch_ups, 1)}"),
                _of(median, [k.at_head_s for k in kills], 1),
                *_delivered(many),
                _range([one.foreign for one in many], 2),
            )
        )
    return markdown(titles, lines)


def _usage_table(results: Sequence[RunResult]) -> str:
    titles = ("run", "cores", "memory MB", "other topics / output", "loopback MB/s")
    lines = []
    for one in results:
        seconds = (one.record.end_ns - one.record.start_ns) / 1e9
        loopback = one.record.wire.loopback / 1e6 / seconds
        lines.append(
            (one.spec.id, _range([one.cores], 2), _range([one.memory]), _range([one.other_share], 2), f"{loopback:.2f}")
        )
    return markdown(titles, lines)


def _growth_table(results: Sequence[RunResult]) -> list[str]:
    """Of windows that are long enough for memory to settle."""
    lines = [
        (one.spec.id, grown.part, f"{grown.first:.0f}", f"{grown.last:.0f}", f"{grown.slope:+.1f}")
        for one in results
        if one.record.end_ns - one.record.start_ns >= _SETTLED_S * 1e9
        for grown in growths(one.record)
    ]
    titles = ("run", "part", "memory MB, first tenth", "last tenth", "slope MB/h")
    return ["### Memory over time", markdown(titles, lines)] if lines else []


def _all_series(killed: Panels, folder: Path) -> list[str]:
    parts = []
    for key, rounds in killed.items():
        compared = folder / f"compared-{_file_word(f'{key[0]}-{key[1]}-{key[2]}')}.png"
        if key[2] == "kill" and plot_compared(rounds, compared):
            parts.append(f"![compared, {titled(key)}]({compared.name})")
        for name, many in rounds.items():
            path = folder / f"series-{_file_word(f'{key[0]}-{key[1]}-{key[2]}-{name}')}.png"
            plot_series(f"{name}, {titled(key)}", many, path)
            parts.append(f"![{name}, {titled(key)}]({path.name})")
    return parts


def _pictured(plot: Callable[[Panels, Path], None], panels: Panels, path: Path) -> list[str]:
    plot(panels, path)
    return [f"![{path.stem}]({path.name})"]


def _delivered(many: Sequence[RunResult]) -> tuple[str, int, int]:
    found = [one.record.delivery for one in many]
    late = "" if all(one.drained for one in found) else " (not drained)"
    return f"{sum(d.lost for d in found)}{late}", sum(d.duplicated for d in found), sum(d.reordered for d in found)


def _range(values: Sequence[float | None], digits: int = 0) -> str:
    """The median, and of several the least and the most."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    text = f"{median(known):.{digits}f}"
    return text if len(known) == 1 else f"{text} ({min(known):.{digits}f} to {max(known):.{digits}f})"


def _of(pick: Callable[[list[float]], float], values: Sequence[float | None], digits: int = 0) -> str:
    known = [value for value in values if value is not None]
    return f"{pick(known):.{digits}f}" if known else ""


def _each(texts: Iterable[str]) -> str:
    """Each text once."""
    return "; ".join(dict.fromkeys(text for text in texts if text))


def _first_line(text: str) -> str:
    return text.splitlines()[0]


def _file_word(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def main(out: Annotated[Path, typer.Argument(help="The folder of the evaluation")]) -> None:
    """Write report.md and its plots into the folder of an evaluation."""
    try:
        print(write_report(Folder(out)))
    except FolderError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(2) from error


if __name__ == "__main__":
    typer.run(main)
