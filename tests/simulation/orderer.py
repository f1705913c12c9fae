"""An orderer: the product's core between simulated logs, inputs and an election."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from simulation.process import Process
from tandem.core.effects import Append
from tandem.core.events import LogRecord, Tick
from tandem.core.orderer import OrdererCore, OrdererSettings
from tandem.core.ordering import (
    CountRecords,
    InputsSeen,
    Leading,
    LookAtInputs,
    OrdererEvent,
    RecordsCounted,
)
from tandem.protocol.decisions import Verdict
from tandem.protocol.pace import PaceSettings
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Offsets, Proposal

if TYPE_CHECKING:
    from simulation.world import World

_BEAT_MS = 10.0
_AGAIN_MS = 60.0
_AHEAD = 2
_TICK = Tick()


@cache
def eager(core: type[OrdererCore]) -> type[OrdererCore]:
    """A generator that beats on without waiting to read its own beats."""

    class Eager(core):  # type: ignore[misc, valid-type]
        def is_proposed(self, now_ms: float) -> bool:
            return super().is_proposed(now_ms) and self.proposed.epoch > self.decisions.last_epoch + _AHEAD

        def next_cut(self, now_ms: float) -> tuple[int, Offsets]:
            if super().is_proposed(now_ms):
                return self.proposed.epoch + 1, self.proposed.ends
            return super().next_cut(now_ms)

    return Eager


class Orderer(Process):
    """In leader mode `leading` is what it believes, rightly or not; a heartbeat generator always proposes."""

    forgets = True

    def __init__(self, world: World, name: str) -> None:
        super().__init__(world, name)
        self.leading = False
        self._skew_ms = self._clock_offset / 1e5

    def start(self) -> None:
        """A new incarnation: reads on from the last marker that it finds."""
        super().start()
        schedule, deviation = self.world.schedule, self.world.deviation
        barrier_ms = 0 if schedule.barriers is None else schedule.barriers.interval_ms
        core = eager(deviation.orderer) if schedule.eager else deviation.orderer
        self.decisions = self.decisions_since(self.world.last_marker())
        self._core = core(
            OrdererSettings(self.name, schedule.max_records, repropose_ms=_AGAIN_MS, barrier_ms=barrier_ms),
            self.decisions,
            deviation.pace(PaceSettings(live_ms=200.0), AdaptiveTimeout(20.0, 120.0)),
        )
        self._believe(schedule.heartbeat)
        if not schedule.heartbeat:
            self.session = self.world.ensemble.connect(self)
        self.wake()

    @property
    def leads(self) -> bool:
        """Whether it is there, if only paused, and believes that it was elected."""
        return self.alive and self.leading and not self.world.schedule.heartbeat

    def session_lost(self) -> None:
        """ZooKeeper has given the session up, and this process learns it only now."""
        self._believe(False)
        self.session = self.world.ensemble.connect(self)

    def told(self, leading: bool) -> None:
        """What it believes from now on."""
        self._believe(leading)
        if leading:
            self.think()
            self.world.reached("elected", self)

    def _believe(self, leading: bool) -> None:
        self.leading = leading
        self._feed(Leading(leading))

    def follow(self) -> bool:
        """Read the ordering log."""
        end = len(self.world.log.records)
        self.read_log(self.glimpse(self.log_at, end))
        return self.log_at == end

    def on_record(self, proposal: Proposal, offset: int) -> Verdict:
        """The next record of the ordering log."""
        self._feed(LogRecord(offset, proposal))
        return self._core.verdict

    def think(self) -> None:
        """A round of its loop ends, and the next begins: soon, while there is input."""
        self._feed(_TICK)
        self._feed(Leading(self.leading))
        if self.world.available.records_since(self.decisions.last_ends) > 0:
            self.tick_after(_BEAT_MS)

    def _feed(self, event: OrdererEvent) -> None:
        """Carry out what the core wants: it is answered at once, but perhaps from the past."""
        world = self.world
        for effect in self._core.step(event, self.now_ms):
            match effect:
                case LookAtInputs():
                    available = world.look_at_inputs()
                    self._feed(InputsSeen(available, available.records_since(effect.last), are_same=True))
                case CountRecords():
                    self._feed(RecordsCounted(self._counted(effect), self.wall_ms, world.rng.getrandbits(32)))
                case Append() if world.deviation.lanes_wait and world.site.is_ahead(world):
                    pass
                case Append():
                    self.append(effect.proposal)
                    world.proposed(self, effect.proposal.epoch)
                    world.reached("cut sent", self)

    @property
    def wall_ms(self) -> int:
        """Its wall clock, which is as wrong as its other one, and never negative; where barriers depend on it, less so."""
        return int(
            1e6 + (self.now_ms if self.world.schedule.barriers is None else self.world.timeline.now + self._skew_ms)
        )

    def _counted(self, wanted: CountRecords) -> Offsets:
        """Who counts may not have got to the end yet, or not even to the first record."""
        rng = self.world.rng
        if rng.random() >= self.world.schedule.short_glances:
            return wanted.ends
        return Offsets({tp: rng.randint(wanted.last.get(tp, 0), end) for tp, end in wanted.ends.items()})

    def on_appended(self, life: int) -> None:
        """A cut stands in the log, but this process does not know."""
        was = "" if self.life != life or not self.alive else "leader" if self.leads else "proposer"
        super().on_appended(life)
        if was:
            self.world.timeline.after(self.world.delay(), None, self._acknowledged, was, life)

    def _acknowledged(self, was: str, life: int) -> None:
        if self.life != life or not self.alive:
            self.world.reached(f"a {was} died between append and acknowledgement")
