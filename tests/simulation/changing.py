"""The lanes of a job whose number changes: those before and those after, in the same logs, ids, folders and sink."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from simulation import keyed
from simulation.changer import WRITER, Changer, RefusedChangeError
from simulation.deviation import Deviation
from simulation.invariants import InvariantError
from simulation.kafka import OrderingLog, Partition
from simulation.lane_change import LaneChange, lane_of
from simulation.lane_worlds import Beginning, LaneWorld
from simulation.running import run
from simulation.schedule import Schedule
from simulation.site import Site
from tandem.manifest.lanes import lane_name
from tandem.protocol.lanes import Boundary, MovedLane
from tandem.protocol.values import Offsets

_JOB = "job"
_LOOK_MS = 15.0
_RUN_MS = 150.0


class Change:
    """One change of the number of lanes, as the operator sees it; `None`: there is none to come."""

    def __init__(
        self, worlds: ChangingWorlds, before: Sequence[LaneWorld], plan: LaneChange | None, number: int
    ) -> None:
        self._worlds, self.before, self._plan, self._number = worlds, before, plan, number
        self.site = before[0].site
        self._rng = Random(before[0].schedule.seed ^ 0x57E9)
        self.is_decided = self._is_done = False
        self.stops = 0  # how often the lanes had to run once more
        self.lanes = 0 if plan is None else plan.lanes
        self.names = [lane_name(_JOB, lane) for lane in range(self.lanes)]
        self._kept: dict[tuple[str, str], int] = {}
        self._after: list[LaneWorld] = []
        self._changers: list[Changer] = []
        for world in before:
            world.change = self
        if plan is not None:
            self.site.timeline.at(max(plan.at_ms, self.site.timeline.now), None, self._stop)

    @property
    def is_to_come(self) -> bool:
        """Whether the lanes before are not the last ones."""
        return self._plan is not None and not self._is_done

    def log(self, name: str) -> OrderingLog:
        """Of the lane of that name, of whatever generation."""
        return self.site.named(f"{name}.ordering", OrderingLog)

    def commits(self, name: str) -> Partition:
        """The same of its markers."""
        return self.site.named(f"{name}.commits", lambda: Partition("commits"))

    # Before ----------------------------------------------------------------------------------------------------------

    def _stop(self) -> None:
        """Stop all lanes; some of their processes go on."""
        timeline, plan = self.site.timeline, self._plan
        assert plan is not None
        if not all(world.has_begun and world.newest_config() for world in self.before):
            timeline.after(_LOOK_MS, None, self._stop)
            return
        until = timeline.now + plan.lingering_ms
        for world in self.before:
            world.ended = world.processes
            for process in world.processes:
                if process.alive and self._rng.random() < plan.lingers:
                    world.linger(process, plan)
                    world.reached("a process lingered")
                elif process.alive:
                    process.crash()
            world.injector.healed_at = max(world.injector.healed_at, until)
        if self.is_decided:  # while the lanes ran once more
            return
        self._changers = [Changer(self, "changer-0"), Changer(self, "changer-1")]
        timeline.after(5.0, None, self._changers[0].start)
        if plan.again_ms >= 0:
            timeline.after(plan.again_ms, None, self._again)

    def _again(self) -> None:
        if not self.is_decided and not self._changers[1].alive:
            self._changers[1].start()

    def go_on_as_before(self) -> None:
        """The lanes run once more, and then it is tried again. Who tries it meanwhile gives up when it is refused."""
        if self.is_decided:
            return
        self.stops += 1
        for world in self.before:
            world.ended = ()
            for process in world.processes:
                if not process.alive:
                    process.start()
        self.site.timeline.after(_RUN_MS, None, self._stop)

    def state_of(self, lane: int, published: int) -> int:
        """The state of a lane after the last published epoch: exactly that one is needed."""
        world = self.before[lane]
        if published == world.begins.epoch:
            return world.begins.state
        if published in world.states:
            return world.states[published]
        if world.deviation.changes_lanes == "the exact state":
            known = [epoch for epoch in world.states if epoch <= published]
            return world.states[max(known)] if known else world.begins.state
        raise RefusedChangeError(f"the state of {world.job} after epoch {published} is nowhere", starts=True)

    def keep(self, name: str, moved: MovedLane, state: int) -> None:
        """The savepoint of a new lane."""
        self._kept[name, moved.savepoint] = state

    # Behind ----------------------------------------------------------------------------------------------------------

    def decided(self, moved: Sequence[tuple[str, MovedLane]], boundary: Boundary, at: dict[str, int]) -> None:
        """The transaction of a change is committed: from now on the lanes are the new ones."""
        if self.is_decided:
            raise InvariantError(f"the number of lanes changes twice, to {boundary}")
        self.is_decided = True
        first, job = self.before[0], self._worlds.schedule
        for name, _ in moved:
            for world in self.log(name).worlds:
                assert isinstance(world, LaneWorld)
                world.checker.ends_at = at[name]
            self.log(name).worlds.clear()
        for name, one in moved:
            if one.lane is None:
                continue
            state = self._kept[name, one.savepoint]
            keyed.check_keys(state, one.lane, self.lanes)
            schedule = lane_of(job, self._rng, self._number + 1, one.lane, self.lanes, job_span(job))
            now = self.site.timeline.now
            failures = (one if one.step else replace(one, at_ms=one.at_ms + now) for one in schedule.failures)
            begins = Beginning(boundary.generation, boundary.epoch, one.start, state, at[name])
            schedule = replace(schedule, failures=tuple(failures))
            self._after.append(LaneWorld(schedule, first.deviation, first.telling, self.site, begins))
        available = {tp: end for world in self.before for tp, end in world.available.items()}
        for world in self._after:
            world.has_inputs(Offsets((tp, available[tp]) for tp in world.start))
            if world.available != world.start:
                world.checker.on_input()
        for world in self.before:
            world.heirs = self._after
            world.heir = next((one for one in self._after if one.job == world.job), None)
            self.site.lanes.remove(world)
        first.reached(f"{'fewer' if self.lanes < len(self.before) else 'more'} lanes")
        self._worlds.follow(self._after)

    def done(self) -> None:
        """Somebody knows that the number has changed: the new lanes begin, when their logs can be read."""
        if self._is_done:
            return
        if not self.is_decided:
            raise InvariantError("a change is said to be made, and is not")
        if not all(world.is_behind_boundary() for world in self._after):
            self.site.timeline.after(_LOOK_MS, None, self.done)
            return
        self._is_done = True
        for world in self._after:
            world.has_begun = True
            world.begin()


def job_span(job: Schedule) -> float:
    """Over which time the inputs of a job arrive."""
    assert job.lanes is not None
    return job.lanes.schedules[0].arrivals[-1][0]


class ChangingWorlds:
    """Runs a schedule in which the number of lanes changes."""

    def __init__(self, schedule: Schedule, deviation: Deviation | None = None, telling: bool = False) -> None:
        assert schedule.lanes is not None
        assert schedule.lane_changes is not None
        self.schedule, self.site = schedule, Site()
        self.site.of_all_lanes = WRITER
        self._all: list[LaneWorld] = []
        self._plans = list(schedule.lane_changes.changes)
        self._number = 0
        self.follow([LaneWorld(one, deviation, telling, self.site) for one in schedule.lanes.schedules])

    def follow(self, worlds: Sequence[LaneWorld]) -> None:
        """These are the lanes now; another change may come."""
        self._all += worlds
        Change(self, worlds, self._plans.pop(0) if self._plans else None, self._number)
        self._number += 1

    @property
    def seen(self) -> Counter[str]:
        """The situations that were got into."""
        return self.site.seen

    @property
    def story(self) -> list[str]:
        """What happened, if asked for."""
        return self.site.story

    @property
    def longest_silence(self) -> float:
        """It stands still while it changes."""
        return 0.0

    def run(self) -> None:
        """Run to the end. Raises `InvariantError`."""
        try:
            run(self.site)
        finally:
            for world in self._all:
                for task in list(world.tasks):
                    task.kill()
        assert self.site.sink is not None
        self.site.sink.at_the_end(self.site.lanes)
