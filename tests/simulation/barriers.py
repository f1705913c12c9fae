"""What one of ten seeds adds: the real-time engine, which commits its state behind barriers only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING

from simulation.outputs import mix
from simulation.schedule import Schedule
from tandem.core.giving import GivingSettings
from tandem.protocol.barriers import OwnBarriers
from tandem.protocol.values import EpochRange

if TYPE_CHECKING:
    from simulation.replica import Replica


@dataclass(frozen=True, slots=True)
class Barriers:
    """`common`: the job has a watermark, which moves behind each barrier; else each replica has barriers of its own.

    `interval_ms` : how far apart they are; those of the product are a hundred times as far. `turnover_ms` : how long one
    takes. `most_records` : that the engine is given ahead.
    """

    common: bool
    interval_ms: int
    turnover_ms: float
    most_records: int

    def __str__(self) -> str:
        return f"{'common' if self.common else 'own'} barriers each {self.interval_ms} ms"


def real_time(schedule: Schedule) -> Schedule:
    """The schedule under the real-time engine, with state."""
    rng = Random(schedule.seed ^ 0xBA221E2)
    barriers = Barriers(rng.random() < 0.5, rng.choice((20, 50, 120)), rng.choice((2.0, 20.0)), rng.choice((0, 12)))
    quick = rng.choice((1.0, 0.25))
    return replace(schedule, barriers=barriers, compute_ms=tuple(quick * ms for ms in schedule.compute_ms))


def has_common(schedule: Schedule) -> bool:
    """Whether the generation asks for common barriers."""
    return schedule.barriers is not None and schedule.barriers.common


def after_turnover(schedule: Schedule, what: EpochRange, state: int) -> int:
    """The state behind a batch that ended with an epoch: a watermark moves there, and what else there is does not change."""
    return mix(state, 1, what.time_ms) if has_common(schedule) else state


def giving(replica: Replica) -> GivingSettings:
    """What the engine of a replica is given."""
    barriers = replica.world.schedule.barriers
    if barriers is None:
        return GivingSettings()
    if barriers.common and not replica.world.deviation.turns_over_apart:
        return GivingSettings(most_records=barriers.most_records)
    number = int(replica.name.rpartition("-")[2])
    own = OwnBarriers(barriers.interval_ms, number, replica.world.schedule.replicas)
    return GivingSettings(most_records=barriers.most_records, barriers=own)


class Turnovers:
    """The batches of one incarnation's engine, and the state that it commits."""

    def __init__(self, replica: Replica) -> None:
        self._replica, self._world = replica, replica.world

    def computed(self, what: EpochRange) -> bool:
        """An epoch is computed; whether the engine turns over now, and computes nothing meanwhile."""
        replica, world = self._replica, self._world
        barriers = world.schedule.barriers
        if barriers is None:
            replica.keep_state(what, replica.state)
            return False
        if not what.barrier:
            if world.deviation.commits_between:
                replica.keep_state(what, after_turnover(world.schedule, what, replica.state))
            return False
        self._note(what)
        world.timeline.after(barriers.turnover_ms * world.rng.uniform(0.5, 1.5), replica, self._turned_over, what)
        return True

    def _note(self, what: EpochRange) -> None:
        world, replica = self._world, self._replica
        if world.last_turnover not in (None, (what.epoch, replica.name)) and not has_common(world.schedule):
            assert world.last_turnover is not None
            epoch, name = world.last_turnover
            if name != replica.name:
                world.reached("replicas turned over together" if epoch == what.epoch else "replicas turned over apart")
        world.last_turnover = what.epoch, replica.name
        world.reached("turns over", replica)

    def _turned_over(self, what: EpochRange) -> None:
        replica, world = self._replica, self._world
        replica.state = after_turnover(world.schedule, what, replica.state)
        replica.keep_state(what, replica.state)
        world.reached("turned over", replica)
        replica.engine.is_free()
