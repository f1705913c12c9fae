"""What one of ten seeds adds: a new generation. It follows while the old one publishes, or when all of that is dead."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from simulation.barriers import has_common
from simulation.invariants import ChoosingChecker, InvariantError
from simulation.outputs import PROGRAMS, QUESTION, Row, compute
from simulation.process import Process
from simulation.replica import Replica
from simulation.schedule import Schedule
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.succession import Succession
from tandem.protocol.values import Config, Marker

if TYPE_CHECKING:
    from simulation.world import World

_AGAIN_MS = 60.0
BEGINNING = (-1, 0)
"""In the place of a savepoint's epoch and state: the inputs are computed from their start."""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The new generation's replicas start at these times; the old one's first replica makes room for the first of them.

    `behind`: how many epochs before the last published one the savepoint was made, at most; None: there is no savepoint.
    `dead_ms`: when all replicas of the old one die, for good; None: they do not.
    """

    starts_ms: tuple[float, ...]
    behind: int | None
    calm: bool  # nothing fails: the boundary is exact on both sides
    dead_ms: float | None = None

    @property
    def at_ms(self) -> float:
        """When it begins."""
        return self.starts_ms[0] if self.dead_ms is None else self.dead_ms


def upgrading(plain: Schedule) -> Schedule:
    """The schedule with an upgrade in the midst of it."""
    rng = Random(plain.seed ^ 0x6E0F)
    at = rng.uniform(40, 300)
    calm = rng.random() < 0.2
    starts = (at, *(at + rng.uniform(0, 150) for _ in range(rng.choice((0, 1, 1)))))
    schedule = replace(plain, delivery=Delivery.EXACTLY_ONCE, upgrade=Upgrade(starts, rng.choice((0, 2, 6)), calm))
    if not calm:
        return schedule
    patient = {
        "slow_messages": 0.0,
        "unknown": 0.0,
        "short_glances": 0.0,
        "lost": 0.0,
        "least_bound_ms": 150.0,
        "most_bound_ms": 300.0,
    }
    return replace(schedule, failures=(), compute_ms=(min(plain.compute_ms),) * plain.replicas, **patient)


def replacing(plain: Schedule) -> Schedule:
    """The schedule with the end of all replicas in the midst of it. A generation goes on, perhaps without a savepoint."""
    rng = Random(plain.seed ^ 0xDEAD)
    dead = rng.uniform(40, 300)
    starts = tuple(dead + rng.uniform(0, 250) for _ in range(rng.choice((1, 2, 2))))
    upgrade = Upgrade(starts, rng.choice((None, None, 0, 2, 6)), calm=False, dead_ms=dead)
    return replace(plain, delivery=Delivery.EXACTLY_ONCE, upgrade=upgrade, alone=False)


class Successor(Replica):
    """A replica of the next generation: a candidate until its config is accepted."""

    generation = program = 1

    def _restore(self) -> None:
        world = self.world
        assert world.base is not None
        base, state = world.base
        states = {**world.states, **world.new_states} if world.deviation.restores_any_lineage else world.new_states
        epoch = world.pick_state(states)
        if epoch < base:
            epoch, states = base, {base: state}
        savepoint = "before" if base >= 0 else ""
        common = has_common(world.schedule)
        config = Config(1, PROGRAMS[1], world.start, self.name, base, savepoint, barriers=common)
        candidate = Succession(config, _AGAIN_MS)
        self.go_on_from(epoch, states.get(epoch, 0), candidate)

    def lend(self, epoch: int, state: int) -> None:
        """To others of its own generation."""
        self.world.new_states.setdefault(epoch, state)


class UpgradeChecker(ChoosingChecker):
    """Knows both generations' failure-free output."""

    def __init__(self, world: World, upgrade: Upgrade) -> None:
        super().__init__(world)
        self._calm = upgrade.calm
        self._new: dict[int, tuple[int, list[list[Row]]]] = {}
        self._generation = 0

    def on_committed(self, marker: Marker) -> None:
        """Generations never go back, and an old one ends where the new one's config stands."""
        super().on_committed(marker)
        begun = self.decisions.generation_of(marker.epoch)
        if marker.generation < max(begun, self._generation):
            raise InvariantError(f"{marker} is of an earlier generation than {max(begun, self._generation)}")
        if marker.generation != begun:
            self._world.reached("a new generation published what the old one left")
            if self._world.ended:
                self._world.reached("a new generation published what a dead one left")
            if self._calm:
                raise InvariantError(f"{marker} is not of generation {begun}, and nothing has failed")
        if marker.generation > self._generation:
            self._world.reached("a new generation published")
            if self._world.base == BEGINNING:
                self._world.reached("a generation without a savepoint published")
        self._generation = marker.generation

    def rows_of(self, marker: Marker) -> list[list[Row]]:
        """Of the generation whose code computed the rows."""
        return self.rows[marker.epoch] if marker.generation == 0 else self._of_new(marker.epoch)[1]

    def digest_of(self, marker: Marker) -> str:
        """Of the generation whose code computed the rows."""
        return super().digest_of(marker) if marker.generation == 0 else f"{self._of_new(marker.epoch)[0]:x}"

    def _of_new(self, epoch: int) -> tuple[int, list[list[Row]]]:
        """State and rows of an epoch by the new code, from the savepoint on."""
        assert self._world.base is not None
        base, state = self._world.base
        for number in range(base + 1, epoch + 1):
            if number not in self._new:
                before = state if number == base + 1 else self._after_new(number - 1)
                answers = self.decisions.answer(number, QUESTION) if self._world.schedule.asks else ()
                assert answers is not None
                self._new[number] = compute(before, self.ranges[number], answers, program=1)
        return self._new[epoch]

    def _after_new(self, epoch: int) -> int:
        return self._world.state_after(self.ranges[epoch], self._new[epoch][0])


def successors(world: World) -> list[Process]:
    """The replicas of the next generation; none of them has started."""
    upgrade = world.schedule.upgrade
    assert upgrade is not None
    return [Successor(world, f"successor-{i}", world.schedule.compute_ms[i]) for i in range(len(upgrade.starts_ms))]


def begin_upgrade(world: World, upgrade: Upgrade) -> None:
    """Make the savepoint of a published epoch, if there is to be one, stop old replicas, start the new ones."""
    last, behind = world.last_marker(), upgrade.behind
    known = [epoch for epoch in world.states if behind is not None and last - behind <= epoch <= last]
    if not known and upgrade.dead_ms is None:
        world.timeline.after(_AGAIN_MS, None, begin_upgrade, world, upgrade)
        return
    world.base = (min(known), world.states[min(known)]) if known else BEGINNING
    if upgrade.dead_ms is None:
        world.process("replica-0").crash()
    else:
        world.end_replicas()
        world.checker.excuse(max(upgrade.starts_ms))
    for process, at in zip(world.successors, upgrade.starts_ms, strict=True):
        world.timeline.at(max(at, world.timeline.now), None, process.start)
