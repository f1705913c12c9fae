"""A process that talks to Kafka: it asks and is answered, follows the logs, and has a clock of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulation.clock import Call, Life
from simulation.invariants import InvariantError
from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.values import Config, Cut, Proposal

if TYPE_CHECKING:
    from simulation.world import World
    from simulation.zookeeper import Session


class Process(Life):
    """Base of replicas and orderers. Between any two of its events it may pause, be cut off from Kafka, or die."""

    session: Session | None = None  # in ZooKeeper, if it has one
    stands_by = False
    decisions: Decisions
    """What this process knows to be decided."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(name)
        self.world = world
        self.cut_off_until = -1e9
        self.log_at = 0
        self._polling = False
        self._ticking = False
        self._last_arrival = 0.0
        self._clock_offset = world.rng.uniform(-1e6, 1e6)
        self._clock_rate = world.rng.uniform(0.98, 1.02)

    @property
    def now_ms(self) -> float:
        """This process's own clock: it neither agrees with the others' nor runs at their rate."""
        return self._clock_offset + self._clock_rate * self.world.timeline.now

    def start(self) -> None:
        """A new incarnation begins."""
        self.life += 1
        self.alive = True
        self.paused_until = self.cut_off_until = -1e9
        self._polling = self._ticking = False
        self.world.reached("started", self)

    @property
    def was_just_stopped(self) -> bool:
        """Whether a pause, or being cut off from Kafka, has ended a moment ago."""
        return 0.0 <= self.world.timeline.now - max(self.paused_until, self.cut_off_until) < 50.0

    def crash(self) -> None:
        """What was sent is still on its way; nothing else is left."""
        self.alive = False

    # What ZooKeeper tells ------------------------------------------------------------------------------------------

    def session_lost(self) -> None:
        """ZooKeeper has given the session up, and this process learns it only now."""

    def told(self, leading: bool) -> None:
        """It leads; or it does not, or has lost its connection."""

    def nodes_changed(self) -> None:
        """Some node in ZooKeeper did."""

    def reconnected(self) -> None:
        """The connection is back, and the session is still alive."""

    # Asking Kafka ----------------------------------------------------------------------------------------------------

    def ask(self, what: Call, args: tuple[Any, ...], answer: Call | None, lost: bool = False) -> None:
        """Have the broker do `what(*args)`, later; its result goes to `answer`, later still, unless it gets lost."""
        world = self.world
        if self.is_stopped(self.ask, what, args, answer, lost):
            return
        arrival = max(world.timeline.now, self.cut_off_until) + world.delay()
        world.timeline.at(arrival, None, self._arrive, self.life, what, args, None if lost else answer)

    def is_stopped(self, call: Call, *args: Any) -> bool:
        """Whether a failure struck in the midst of this event: then nothing leaves the process, or not before it resumes."""
        if self.alive and self.paused_until > self.world.timeline.now:
            self.world.timeline.at(self.paused_until, self, call, *args)
            return True
        return not self.alive

    def _arrive(self, life: int, what: Call, args: tuple[Any, ...], answer: Call | None) -> None:
        world = self.world
        if world.timeline.now < world.broker_down_until:
            world.timeline.at(world.broker_down_until + world.delay(), None, self._arrive, life, what, args, answer)
            return
        result = what(*args)
        if answer is not None and life == self.life and self.alive:
            world.timeline.at(max(world.timeline.now, self.cut_off_until) + world.delay(), self, answer, result)

    def append(self, proposal: Proposal) -> None:
        """Append to the ordering log, in the order of the calls; sometimes it stands there twice, or gets lost."""
        world = self.world
        if self.is_stopped(self.append, proposal):
            return
        if world.schedule.lost and world.rng.random() < world.schedule.lost:
            world.reached("an append got lost")
            return
        for _ in range(2 if world.rng.random() < world.schedule.repeated else 1):
            arrival = max(world.timeline.now, self.cut_off_until) + world.delay()
            self._last_arrival = max(self._last_arrival + 1e-6, arrival)
            world.timeline.at(
                self._last_arrival, None, self._arrive, self.life, self._appended, (proposal, self.life), None
            )

    def _appended(self, proposal: Proposal, life: int) -> None:
        world = self.world
        world.tell(self, "->log", proposal)
        world.log.append(proposal)
        if isinstance(proposal, Cut):
            self.on_appended(life)

    def on_appended(self, life: int) -> None:  # noqa: ARG002
        """A cut of this process's incarnation `life` stands in the log."""
        self.world.reached("cut appended", self)

    # Following the logs ----------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """There is news: look at it soon."""
        if not self._polling and self.alive:
            self._polling = True
            world = self.world
            reachable = max(world.timeline.now, self.cut_off_until, world.broker_down_until)
            world.timeline.at(reachable + world.delay(), self, self._poll)

    def _poll(self) -> None:
        self._polling = False
        world = self.world
        now = world.timeline.now
        if now < self.cut_off_until or now < world.broker_down_until or not self.follow():
            self.wake()
        self.think()

    def follow(self) -> bool:
        """Read on, not always everything; whether all there was has been read."""
        raise NotImplementedError

    def think(self) -> None:
        """Do what is to be done now."""
        raise NotImplementedError

    def tick_after(self, delay_ms: float) -> None:
        """Think again after a while, news or not."""
        if not self._ticking:
            self._ticking = True
            self.world.timeline.after(delay_ms, self, self._tick)

    def _tick(self) -> None:
        self._ticking = False
        self.think()

    def glimpse(self, at: int, end: int) -> int:
        """How far a reader that is at `at` gets with one look at a log that ends at `end`: mostly all the way."""
        if at == end or self.world.rng.random() >= self.world.schedule.short_glances:
            return end
        return self.world.rng.randint(at, end)

    def read_log(self, end: int) -> None:
        """Apply the ordering log up to `end`."""
        records, checker = self.world.log.records, self.world.checker
        while self.log_at < end and self.alive:
            offset = self.log_at
            self.log_at += 1
            verdict = self.on_record(records[offset], offset)
            checker.on_verdict(self.name, offset, verdict, self.decisions, self.forgets)

    def on_record(self, proposal: Proposal, offset: int) -> Verdict:
        """The next record of the ordering log."""
        raise NotImplementedError

    @property
    def forgets(self) -> bool:
        """Whether it may forget what is claimed of an epoch that is not published yet."""
        return self.stands_by

    def decisions_since(self, epoch: int) -> Decisions:
        """As after the published `epoch` (-1: from the start of the log), from its marker's `log_offset`."""
        world = self.world
        if epoch < 0:
            self.log_at = 0
            return Decisions()
        marker = world.marker_of(epoch)
        offset = marker.log_offset
        if offset < world.log.beginning:
            raise InvariantError(f"{self.name} would read on at {offset}, the log begins at {world.log.beginning}")
        config_at = self.world.deviation.resumes_with_config_at
        config_at = marker.config_offset if config_at is None else config_at
        config, cut = world.log.records[config_at], world.log.records[offset]
        assert isinstance(config, Config)
        assert isinstance(cut, Cut)
        self.log_at = offset + 1
        return Decisions.resumed(config, cut, offset, config_at)
