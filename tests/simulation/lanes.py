"""What one of ten seeds adds: lanes, which share brokers, ZooKeeper, hosts and the sink, and fail alone or together.

A lane is a schedule of its own, with what the manifest says alike for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from random import Random

from simulation.redundancy import failures_of
from simulation.schedule import Failure, Schedule, failure_of, plot_of
from tandem.manifest.lanes import read_by
from tandem.manifest.models import ReplicatedStreamJob

_KINDS = ("host lost", "host lost", "host lost", "host paused", "host paused", "host isolated")
_SERVERS = ("broker outage", "zookeeper outage")
_SEEDS = 1 << 32  # farther apart than those of jobs


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes, and the hosts on which they are: replica i of lane l is on host (i + l × `shift`) mod `hosts`.

    `failures` : of hosts, and of servers, in the places of no lane's own.
    """

    schedules: tuple[Schedule, ...]
    hosts: int
    shift: int
    failures: tuple[Failure, ...]

    def __str__(self) -> str:
        lanes = "".join(f"\n  lane {one.lane}: {failure}" for one in self.schedules for failure in one.failures)
        hosts = "".join(f"\n  {failure}" for failure in self.failures)
        return f"{len(self.schedules)} lanes on {self.hosts} hosts{lanes}{hosts}"


def laned(job: Schedule) -> Schedule:
    """The schedule of a job that is divided into lanes."""
    rng = Random(job.seed ^ 0x1A9E5)
    count = rng.choice((2, 2, 3))
    hosts = job.replicas + rng.choice((0, 0, 1))
    if job.redundancy is not None:
        job = replace(job, redundancy=replace(job.redundancy, one_machine=False))
    job = replace(job, inputs=count * rng.choice((1, 2)), failures=())
    span = job.arrivals[-1][0]
    schedules = [_lane(job, number, count, span, rng) for number in range(count)]
    if rng.random() < 0.3:
        dead = rng.randrange(count)
        stop = Failure("full stop", rng.uniform(700, 1_500), at_ms=rng.uniform(30, span))
        schedules[dead] = replace(schedules[dead], failures=(stop,))
    some = rng.choice((0, 1, 1, 2)) if job.alone else rng.choice((0, 1, 2, 2, 3))
    failures = tuple(_of_host(rng, hosts, span) for _ in range(some))
    return replace(job, lanes=Lanes(tuple(schedules), hosts, rng.choice((0, 1)), failures))


def _lane(job: Schedule, number: int, count: int, span: float, rng: Random) -> Schedule:
    partitions = partitions_of(count, number, job.inputs)
    arrivals = ((rng.uniform(0, span), rng.choice(partitions), rng.randint(1, 3)) for _ in range(rng.randint(4, 12)))
    failures: tuple[Failure, ...] = ()
    if job.redundancy is not None:
        failures = failures_of(rng, job.redundancy, span, job.alone) if rng.random() < 0.6 else ()
    else:
        some = rng.choice((0, 0, 1, 2)) if job.alone else rng.choice((0, 0, 1, 2, 3))
        failures = plot_of(rng) + tuple(failure_of(rng, job.replicas, span) for _ in range(some))
    return replace(
        job,
        seed=job.seed + _SEEDS * (number + 1),
        lane=number,
        partitions=partitions,
        arrivals=tuple(sorted(arrivals)),
        failures=failures,
        compute_ms=tuple(rng.sample(job.compute_ms, job.replicas)),
    )


def _of_host(rng: Random, hosts: int, span: float) -> Failure:
    duration = rng.choice((rng.uniform(5, 60), rng.uniform(60, 500)))
    if rng.random() < 0.15:
        return Failure(rng.choice(_SERVERS), duration, at_ms=rng.uniform(5, span))
    return Failure(rng.choice(_KINDS), duration, target=f"host-{rng.randrange(hosts)}", at_ms=rng.uniform(5, span))


@cache
def partitions_of(count: int, lane: int, inputs: int) -> tuple[int, ...]:
    """Which of the input's partitions a lane has: the product says that."""
    spec = {
        "lanes": count,
        "job": {"file": "job.py"},
        "kafka": {"bootstrapServers": "simulated:1"},
        "zookeeper": {"connect": "simulated:1"},
        "sources": [{"name": "records", "topics": ["in"]}],
        "sinks": [{"name": "rows", "topic": "out"}],
    }
    job = ReplicatedStreamJob.model_validate({"metadata": {"name": "job"}, "spec": spec})
    return tuple(read_by(job, lane, {"in": inputs})["in"])
