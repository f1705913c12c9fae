"""Many schedules, over several processes; and the story of one that failed."""

from __future__ import annotations

import gc
import multiprocessing
import resource
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from simulation.changing import ChangingWorlds
from simulation.deviation import Deviation
from simulation.invariants import InvariantError
from simulation.schedule import Schedule
from simulation.world import World
from simulation.worlds import Worlds, world_of

_CHUNK = 250
_KEPT = 5


@dataclass(frozen=True, slots=True)
class Failed:
    """A schedule that broke an invariant."""

    seed: int
    violation: str
    unsafe: bool


@dataclass(slots=True)
class Report:
    """What a campaign found. `silence` is the longest of the output, in ms, under one failure at a time."""

    schedules: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    failed: list[Failed] = field(default_factory=list)
    silence: tuple[float, int] = (0.0, -1)
    worker_s: float = 0.0
    """What a worker computed, s: as long as it takes on cores that nobody else uses."""

    def add(self, other: Report) -> None:
        """Add what another part found."""
        self.schedules += other.schedules
        self.seen += other.seen
        self.failed += other.failed
        self.silence = max(self.silence, other.silence)


def _begin() -> None:
    """In a worker: a world is a great circle, and little else is garbage; what was imported lasts."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


def _of_children_s() -> float:
    """The CPU time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def campaign(schedules: int, workers: int = 2, first: int = 0) -> Report:
    """Run the seeds `first` … `first + schedules` - 1."""
    end = first + schedules
    chunks = [range(start, min(start + _CHUNK, end)) for start in range(first, end, _CHUNK)]
    report = Report()
    before_s = _of_children_s()
    with multiprocessing.get_context("spawn").Pool(workers, _begin) as pool:
        for part in pool.imap_unordered(run, chunks):
            report.add(part)
        pool.close()
        pool.join()
    report.worker_s = (_of_children_s() - before_s) / workers
    report.failed.sort(key=lambda failed: failed.seed)
    return report


def run(seeds: Iterable[int], schedule_of: Callable[[int], Schedule] = Schedule.of) -> Report:
    """Run some seeds in this process."""
    report = Report()
    for seed in seeds:
        world = world_of(schedule_of(seed))
        failed = _failure(world)
        report.schedules += 1
        report.seen.update(world.seen)
        if failed is not None:
            report.failed.append(failed)
        if world.schedule.alone:
            report.silence = max(report.silence, (world.longest_silence, seed))
    return report


def first_failure(schedules: Iterable[Schedule], deviation: Deviation, unsafe: bool) -> tuple[int, Failed | None]:
    """How many schedules were run until one failed under `deviation`, and that one; `unsafe`: until one became unsafe."""
    count = 0
    for schedule in schedules:
        count += 1
        failed = _failure(world_of(schedule, deviation))
        if failed is not None and failed.unsafe >= unsafe:
            return count, failed
    return count, None


def story(schedule: Schedule, deviation: Deviation | None = None) -> str:
    """What happens under a schedule, line by line, ending with the violation if there is one."""
    world = world_of(schedule, deviation, telling=True)
    failed = _failure(world)
    return "\n".join([str(world.schedule), *world.story, failed.violation if failed else "no invariant was broken"])


def explain(failed: list[Failed], schedule_of: Callable[[int], Schedule] = Schedule.of) -> str:
    """All failed seeds, and the story of the first."""
    if not failed:
        return "no schedule failed"
    seeds = "\n".join(f"seed {one.seed}: {one.violation}" for one in failed[:_KEPT])
    first = story(schedule_of(failed[0].seed))
    return f"{len(failed)} schedules failed, among them\n{seeds}\n\nThe first one's story:\n{first}"


def _failure(world: World | Worlds | ChangingWorlds) -> Failed | None:
    try:
        world.run()
    except InvariantError as violation:
        return Failed(world.schedule.seed, str(violation), violation.unsafe)
    return None
