"""The targets of the bench, as ratios within one round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from bench.measures import KillRun, Row, Target

TUNED = ("plain-tuned", "plain-compiled")
DEFAULT, ONE = "plain-default", "tandem-1"
TWO = ("tandem-2-leader", "tandem-2-heartbeat")


def targets(rows: Sequence[Row], kill_runs: Sequence[KillRun]) -> list[Target]:
    """All targets; per job and rate, the median over the rounds."""
    found: list[Target] = []
    for job, rate in dict.fromkeys((row.job, row.rate) for row in rows):
        of = [row for row in rows if (row.job, row.rate) == (job, rate)]
        where = f"{job} at {rate}/s"
        found.append(Target.at_most(f"p50 of 1 replica / best tuned plain Spark, {where}", 1.5, _p50(of, ONE, TUNED)))
        found.append(
            Target.below(f"p50 of 1 replica / plain Spark by default, {where}", 1.0, _p50(of, ONE, (DEFAULT,)))
        )
        for two in TWO:
            found.append(Target.at_most(f"p50 of {two} / 1 replica, {where}", 1.15, _p50(of, two, (ONE,))))
        for own in (ONE, *TWO):
            found.append(Target.at_most(f"memory of {own} / tuned plain Spark, {where}", 1.2, _memory(of, own)))
    for run in kill_runs:
        if run.configuration in TWO and run.kills:
            where = f"{run.configuration}, {len(run.kills)} kills, {run.job} at {run.rate}/s"
            ratio = median(kill.gap for kill in run.kills) / median(kill.gap_before for kill in run.kills)
            found.append(Target.at_most(f"median gap around a kill / without one, {where}", 1.5, ratio))
            found.append(
                Target.at_most(f"worst gap around a kill in ms, {where}", 1_000.0, max(k.gap for k in run.kills))
            )
            back = [kill.at_head_s for kill in run.kills]
            slowest = None if None in back else max(seconds for seconds in back if seconds is not None)
            found.append(
                Target(
                    f"restarted to head in s, slowest, {where}", "≤ 60", slowest, slowest is not None and slowest <= 60
                )
            )
    found.append(_faultless(rows, kill_runs))
    return [target for target in found if target.value is not None or target.reached is not None]


def _p50(rows: Iterable[Row], ours: str, theirs: tuple[str, ...]) -> float | None:
    return _ratio([(row.round, row.configuration, row.latency.p50) for row in rows], ours, theirs)


def _memory(rows: Iterable[Row], ours: str) -> float | None:
    return _ratio([(row.round, row.configuration, row.memory) for row in rows], ours, TUNED)


def _ratio(values: Sequence[tuple[int, str, float]], ours: str, theirs: tuple[str, ...]) -> float | None:
    """Ours over the least of theirs, each within its round; the median of the rounds that have both."""
    ratios = []
    for number in {number for number, *_ in values}:
        mine = [value for n, name, value in values if (n, name) == (number, ours)]
        others = [value for n, name, value in values if n == number and name in theirs]
        if mine and others:
            ratios.append(median(mine) / min(others))
    return median(ratios) if ratios else None


def _faultless(rows: Iterable[Row], kill_runs: Iterable[KillRun]) -> Target:
    runs: list[Row | KillRun] = [*rows, *kill_runs]
    own = [run.faults for run in runs if run.configuration in (ONE, *TWO) and run.faults is not None]
    count = sum(f.lost + f.duplicated + f.reordered for f in own)
    return Target(
        "lost, duplicated or reordered by Tandem", "0", float(count) if own else None, count == 0 if own else None
    )
