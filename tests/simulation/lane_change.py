"""What a schedule adds: the number of lanes changes while the job lives, once or twice, and whatever may fails meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from simulation.keyed import INPUTS
from simulation.lanes import Lanes, partitions_of
from simulation.schedule import Failure, Schedule, failure_of
from tandem.protocol.publication_rules import Delivery

CHANGE_STEPS = (
    "change begun",
    "writer initialised",
    "lanes looked at",
    "owners looked at",
    "claims sent",
    "owner fenced",
    "log read",
    "state found",
    "new log read",
    "savepoint kept",
    "lane written",
    "markers written",
    "change sent",
    "change decided",
)
_SEEDS = 1 << 32


@dataclass(frozen=True, slots=True)
class LaneChange:
    """One change: when it begins, to how many lanes.

    `lingers` : share of the processes of the lanes before that are not stopped, though they seem to be, and go on for up to
    `lingering_ms`; `pauses`: share of those that pause first. `again_ms`: when somebody else tries it too; −1: nobody.
    """

    at_ms: float
    lanes: int
    lingers: float
    lingering_ms: float
    pauses: float
    again_ms: float


@dataclass(frozen=True, slots=True)
class LaneChanges:
    """All changes of a schedule, and what fails at the steps of who carries them out."""

    changes: tuple[LaneChange, ...]
    failures: tuple[Failure, ...]

    def __str__(self) -> str:
        parts = [f"{one.lanes} lanes at {one.at_ms:.0f}" for one in self.changes]
        return ", then ".join(parts) + "".join(f"\n  {failure}" for failure in self.failures)


def changing(plain: Schedule) -> Schedule:
    """The schedule with lanes whose number changes."""
    rng = Random(plain.seed ^ 0xC4A96E)
    count = rng.choice((2, 2, 3, 4))
    span = rng.uniform(150, 500)
    job = replace(
        plain,
        delivery=Delivery.EXACTLY_ONCE,
        asks=False,
        alone=False,
        inputs=INPUTS,
        failures=(),
        lanes=Lanes((), 0, 0, ()),
        lane_changes=_changes(rng, count, span),
        least_bound_ms=rng.choice((10.0, 30.0, 60.0)),
    )
    schedules = tuple(lane_of(job, rng, 0, lane, count, span) for lane in range(count))
    return replace(job, lanes=Lanes(schedules, 0, 0, ()))


def _changes(rng: Random, count: int, span: float) -> LaneChanges:
    changes: list[LaneChange] = []
    at = rng.uniform(60, span)
    for _ in range(rng.choice((1, 1, 2))):
        count = rng.choice([one for one in (2, 3, 4) if one != count])
        again = rng.uniform(5, 150) if rng.random() < 0.3 else -1.0
        lingers = rng.choice((0.0, 0.3, 0.6, 1.0))
        changes.append(LaneChange(at, count, lingers, rng.uniform(40, 500), rng.choice((0.0, 0.5, 1.0)), again))
        at += rng.uniform(100, 400)
    failures = tuple(_failure(rng) for _ in range(rng.choice((0, 1, 1, 2, 3))))
    return LaneChanges(tuple(changes), failures)


def _failure(rng: Random) -> Failure:
    kind = rng.choice(("crash", "crash", "crash", "pause", "pause", "broker outage"))
    duration = rng.choice((rng.uniform(5, 60), rng.uniform(60, 400)))
    return Failure(kind, duration, step=rng.choice(CHANGE_STEPS), nth=rng.choice((1, 1, 1, 2, 3)))


def lane_of(job: Schedule, rng: Random, changes: int, lane: int, lanes: int, span: float) -> Schedule:
    """A lane's schedule, after so many changes; of those that there are from the beginning also what its inputs get."""
    partitions = partitions_of(lanes, lane, INPUTS)
    arrivals = ((rng.uniform(0, span), rng.choice(partitions), rng.randint(1, 4)) for _ in range(rng.randint(6, 14)))
    some = rng.choice((0, 0, 1, 2, 3))
    failures = tuple(failure_of(rng, job.replicas, span) for _ in range(some))
    assert job.lane_changes is not None
    return replace(
        job,
        lanes=None,
        lane_changes=None,
        seed=job.seed + _SEEDS * (16 * changes + lane + 1),
        lane=lane,
        partitions=partitions,
        arrivals=tuple(sorted(arrivals)) if not changes else (),
        failures=failures + (job.lane_changes.failures if lane == 0 else ()),
        compute_ms=tuple(rng.sample(job.compute_ms, job.replicas)),
    )
