"""A lane of a job whose number of lanes changes: what it begins with, its replicas, and where it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simulation import keyed
from simulation.changer import decisions_of
from simulation.deviation import Deviation
from simulation.invariants import Checker, InvariantError
from simulation.lane_change import LaneChange
from simulation.outputs import Row
from simulation.process import Process
from simulation.replica import Replica
from simulation.schedule import Schedule
from simulation.sink import LaneOutput
from simulation.site import Site
from simulation.world import World
from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.values import Answers, Config, EpochRange, Marker, Offsets

if TYPE_CHECKING:
    from simulation.changing import Change


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a lane begins with. `offset`: of its config in the log."""

    generation: int = 0
    epoch: int = -1
    start: Offsets | None = None
    state: int = 0
    offset: int = 0


class LaneChecker(Checker):
    """Knows where the lane began, and where it ends: behind that, nothing is its own."""

    _world: LaneWorld

    def __init__(self, world: LaneWorld) -> None:
        super().__init__(world)
        begins = world.begins
        self.ends_at: int | None = None  # the offset in the log
        self.published = max(0, begins.epoch)
        start = begins.start or Offsets()
        for epoch in range(begins.epoch):
            self.ranges.append(EpochRange(epoch, start, start, 0, 0, -1))
            self._states.append(begins.state)
            self._digests.append("")
            self.rows.append([])
        self._verdicts = [Verdict.ADVICE] * begins.offset

    def compute(self, before: int, what: EpochRange, answers: Answers) -> tuple[int, list[list[Row]]]:  # noqa: ARG002
        """With the state that can be divided."""
        begins = self._world.begins
        return keyed.compute(begins.state if what.epoch == begins.epoch else before, what)

    def digest_of(self, marker: Marker) -> str:
        """Nobody has computed the boundary's epoch."""
        return "" if marker.epoch == self._world.begins.epoch else super().digest_of(marker)

    def on_verdict(self, who: str, offset: int, verdict: Verdict, decisions: Decisions, forgets: bool) -> None:
        """Who lingers decides as the lane after does; in the log of a lane that has ended nothing is decided."""
        if offset < self._world.begins.offset:
            return
        if self.ends_at is None or offset < self.ends_at:
            super().on_verdict(who, offset, verdict, decisions, forgets)
        elif self._world.heir is not None:
            self._world.heir.checker.on_verdict(who, offset, verdict, decisions, forgets)
        elif verdict is Verdict.ACCEPTED and not isinstance(self._world.log.records[offset], Config):
            raise InvariantError(f"{who} accepts {self._world.log.records[offset]} in a log that has ended")

    def on_committed(self, marker: Marker) -> None:
        """The lane publishes nothing behind its boundary."""
        if marker.generation != self._world.begins.generation:
            return
        if self.ends_at is not None:
            raise InvariantError(f"{self._world.job} publishes {marker} after the number of lanes has changed")
        super().on_committed(marker)

    def on_visible_marker(self, marker: Marker) -> None:
        """Those of the lane before and of the one after are theirs."""
        if marker.generation != self._world.begins.generation:
            return
        if marker.epoch == self._world.begins.epoch:
            self.published += 1
        else:
            super().on_visible_marker(marker)
            if self._world.begins.generation:
                self._world.reached("a new lane published")


class LaneReplica(Replica):
    """Of a lane, from the savepoint of its generation on."""

    world: LaneWorld

    def start(self) -> None:
        self.generation = self.world.begins.generation
        super().start()

    def _restore(self) -> None:
        world = self.world
        config = world.newest_config()
        if config is not None and config.generation > self.generation:
            world.reached("a replica of the lanes before was refused")
            self.crash()
            return
        epoch = world.pick_state()
        if epoch <= world.begins.epoch:
            self.go_on_from(world.begins.epoch, world.begins.state)
        else:
            self.go_on_from(epoch, world.states[epoch])

    def compute(self, what: EpochRange, answers: Answers) -> tuple[int, list[list[Row]]]:  # noqa: ARG002
        return keyed.compute(self.state, what)

    def on_exit(self, error: Exception | None) -> None:
        super().on_exit(error)
        if self.world.change.is_decided:
            self.world.reached("a replica that lingered was superseded")


class LaneWorld(World):
    """A lane of one number of lanes."""

    checker: LaneChecker

    def __init__(
        self,
        schedule: Schedule,
        deviation: Deviation | None,
        telling: bool,
        site: Site,
        begins: Beginning = Beginning(),
    ) -> None:
        self.begins = begins
        self.change: Change
        self.heir: LaneWorld | None = None
        self.heirs: Sequence[LaneWorld] = ()
        self.has_begun = begins.start is None
        super().__init__(schedule, deviation, telling, site)
        if begins.start is not None:
            self.start = begins.start

    def _checker(self) -> Checker:
        return LaneChecker(self)

    def _replicas(self) -> list[Replica]:
        return [LaneReplica(self, f"replica-{i}", ms) for i, ms in enumerate(self.schedule.compute_ms)]

    def _outputs(self) -> Sequence[LaneOutput]:
        self.site.sink = sink = self.site.sink or keyed.KeyedSink(self.site)
        return [LaneOutput(partition, self) for partition in sink.partitions]

    def id_of(self, incarnation: str) -> str:
        """No incarnation has the id of another one, of whatever generation."""
        return f"{super().id_of(incarnation)}.{self.begins.generation}"

    def newest_config(self) -> Config | None:
        """Also of the lane after."""
        return decisions_of(self.log.records).config

    @property
    def is_whole(self) -> bool:
        """Whether it is one of the last lanes, and runs."""
        return self.has_begun and not self.change.is_to_come

    def is_behind_boundary(self) -> bool:
        """Whether what the lane begins with can be read."""
        config = self.newest_config()
        return (
            config is not None
            and config.generation == self.begins.generation
            and self.last_marker() >= self.begins.epoch
        )

    def has_inputs(self, available: Offsets) -> None:
        """The inputs go on where they were."""
        self.available = available
        self._looks = [self.start, available]

    def _arrive(self, which: int, count: int) -> None:
        super()._arrive(which, count)
        for heir in self.heirs:
            if which in heir._tps:
                heir._arrive(which, count)

    def linger(self, process: Process, change: LaneChange) -> None:
        """A process is not stopped, though it seems to be."""
        now, rng = self.timeline.now, self.rng
        if rng.random() < change.pauses:
            self.injector.strike("pause", process, now + rng.uniform(5, change.lingering_ms))
        self.timeline.at(now + rng.uniform(0.5, 1.0) * change.lingering_ms, process, process.crash)
