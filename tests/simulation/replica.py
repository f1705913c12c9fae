"""A replica: the product's `ReplicaCore` decides; the logs, the engine, the producer and the fencer are simulated ports."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from simulation.barriers import giving, has_common
from simulation.engine import TICK_MS, Engine
from simulation.invariants import InvariantError
from simulation.outputs import PROGRAMS, Row, compute
from simulation.process import Process
from simulation.producer import PlainProducer, TransactionalProducer
from simulation.steps import Steps
from tandem.core.active_role import ActiveRoleSettings
from tandem.core.asking import AskingSettings
from tandem.core.catch_up import CatchUp
from tandem.core.effects import Answer, Append, Ask, Begun, Compared, Compute, Effect, Exit, Marked
from tandem.core.events import LogRecord, MarkerRecord, ReplicaEvent, Tick
from tandem.core.replica import ReplicaCore
from tandem.core.settings import ReplicaSettings
from tandem.protocol.actions import Fence, Outcome, Publish, ReadToEnd, RenewProducer
from tandem.protocol.decisions import Verdict
from tandem.protocol.publication import DivergedError, Publication, SupersededError
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.succession import Succession
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Answers, Claim, Config, Determinant, EpochRange, Proposal

if TYPE_CHECKING:
    from simulation.world import World

_ASKING = AskingSettings(5.0, 30.0, again_ms=40.0, patience_ms=10_000.0, read_ms=30.0, most_bytes=20)
_PROGRESS_MS = 10.0
_TICKS = {has_read_all: Tick(has_read_all) for has_read_all in (False, True)}
_ACTIVE_ROLE = ActiveRoleSettings(settled_ms=20.0, surplus_ms=250.0, hand_over_ms=400.0, leave_ms=50.0)


class Remembering(ReplicaCore):
    """Keeps what was decided about epochs that are published: what is forgotten cannot hide a fault."""

    def forget(self) -> None:
        """Nothing."""


class Replica(Process):
    """`world.deviation` may make it skip what the protocol asks of the runtime; see `guards`."""

    generation = 0
    program = 0
    core: ReplicaCore
    publication: Publication
    producer: TransactionalProducer | PlainProducer

    def __init__(self, world: World, name: str, compute_ms: float) -> None:
        super().__init__(world, name)
        self._compute_ms = compute_ms
        self._running = False

    def start(self) -> None:
        """A new incarnation: its own transactional id, its producer initialised, its state from somewhere."""
        super().start()
        self.me = self.world.id_of(self.name if self.world.deviation.reuses_ids else f"{self.name}.{self.life}")
        self._running = self._joined = self._is_stepping = False
        self._events: deque[ReplicaEvent] = deque()
        self._blind_until = [0.0, 0.0]  # of the ordering log, of the commits topic
        self._known_end = 0  # of the ordering log
        self._steps = Steps(self)
        self.engine = Engine(self, self._compute_ms)
        self._config_proposed = -1e9
        exactly_once = self.world.schedule.delivery is Delivery.EXACTLY_ONCE
        self.producer = TransactionalProducer(self, self.me) if exactly_once else PlainProducer(self)
        if self.world.deviation.initialises_late:
            self._late = True
            self.world.timeline.after(self.world.delay(), self, self._restore)
        else:
            self._late = False
            self.producer.initialise(self._restore)

    def _restore(self) -> None:
        world = self.world
        config = world.newest_config()
        if config is not None and config.generation > self.generation:
            world.reached("a superseded replica was refused")
            self.crash()
            return
        epoch = world.pick_state()
        skips = world.deviation.skips_replay and epoch >= 0
        self.go_on_from(world.last_marker() if skips else epoch, world.states.get(epoch, 0))

    def go_on_from(self, epoch: int, state: int, succession: Succession | None = None) -> None:
        """Everything is ready: compute what comes after `epoch`."""
        world = self.world
        self.state, self.epoch = state, epoch
        self.rows: dict[int, tuple[str, list[list[Row]]]] = {}
        self._kept: dict[int, int] = {}  # states that do not count yet
        self._commits_at = len(world.commits.visible) if world.deviation.replays_blindly else world.place_after(epoch)
        self.decisions = self.decisions_since(epoch)
        bound = AdaptiveTimeout(world.schedule.least_bound_ms, world.schedule.most_bound_ms)
        delivery = world.schedule.delivery
        kind = world.deviation.publication
        self.publication = kind(self.me, self.decisions, epoch + 1, delivery, bound, self.generation)
        self.core = (ReplicaCore if world.schedule.forgets else Remembering)(
            self.publication,
            CatchUp(self.name, epoch, every_ms=_PROGRESS_MS),
            self.now_ms,
            succession,
            settings=ReplicaSettings(active_role=_ACTIVE_ROLE, giving=giving(self)),
            asking=world.deviation.asking(self.me, _ASKING),
        )
        self._running = True
        world.tell(self, "runs on from epoch", epoch)
        if epoch >= 0:
            world.reached("a replica went on from a state")
        if world.schedule.barriers is not None and epoch < world.last_marker():
            world.reached("published epochs were replayed from a barrier")
        self.wake()

    # The loop --------------------------------------------------------------------------------------------------------

    def post(self, event: ReplicaEvent) -> None:
        """Something happened: the core takes it in, and what it wants done for that is begun."""
        self._events.append(event)
        if self._is_stepping:
            return
        self._is_stepping = True
        while self._events:
            for effect in self.core.step(self._events.popleft(), self.now_ms):
                self.carry_out(effect)
        self._is_stepping = False

    def carry_out(self, effect: Effect) -> None:
        """Begin to do what the core wants done."""
        if self.world.telling:
            self.world.tell(self, effect)
        match effect:
            case Append(proposal):
                self._append(proposal)
            case Compute(epoch):
                self.engine.hand(epoch)
            case Ask(epoch, _):
                self.engine.ask(epoch)
            case Answer(_, _, answers):
                self.engine.begin(answers)
            case Marked(marker):
                self.rows.pop(marker.epoch, None)
            case Compared():
                self._lend()
            case Begun():
                self.world.reached("generation begun", self)
            case Exit(error):
                self.on_exit(error)
            case Fence() | ReadToEnd() | RenewProducer() | Publish():
                self._steps.do(effect)

    def on_exit(self, error: Exception | None) -> None:
        """It may not go on: right where a later generation publishes, or one that went wrong reads the other's marker."""
        if isinstance(error, SupersededError):
            self.world.reached("superseded")
        else:
            difference = self.world.schedule.difference
            if not isinstance(error, DivergedError) or difference is None or not difference.goes_wrong:
                raise InvariantError(f"{self.name} stops: {error}") from error
            self.world.reached("a diverged replica stopped")
        self.crash()

    def _append(self, proposal: Proposal) -> None:
        self.append(proposal)
        match proposal:
            case Claim():
                self.world.reached("claim sent", self)
                if self._late and isinstance(self.producer, TransactionalProducer):
                    self._late = False
                    self.world.timeline.after(
                        self.world.rng.uniform(0, 150), self, self.producer.initialise, lambda: None
                    )
            case Config():
                self.world.reached("generation proposed", self)
            case Determinant():
                self.world.reached("answer sent", self)

    # Reading ---------------------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """There is news."""
        if self._running:
            super().wake()

    def follow(self) -> bool:
        """Read the one log, or the other, or both; now and then the answers on one of them take long."""
        world, now, rng = self.world, self.world.timeline.now, self.world.rng
        if rng.random() < 0.2 * world.schedule.short_glances:
            until = self._blind_until[rng.randrange(2)] = now + rng.uniform(2, 80)
            world.timeline.at(until, self, self.wake)
        log_end, commits_end = len(world.log.records), len(world.commits.visible)
        sees_log, sees_commits = now >= self._blind_until[0], now >= self._blind_until[1]
        if sees_log:
            self._known_end = log_end
            self.read_log(self.glimpse(self.log_at, log_end))
        if sees_commits:
            self.read_commits(self.glimpse(self._commits_at, commits_end))
        return not (sees_log and self.log_at < log_end) and not (sees_commits and self._commits_at < commits_end)

    def on_record(self, proposal: Proposal, offset: int) -> Verdict:
        """The next record of the ordering log."""
        self.post(LogRecord(offset, proposal))
        verdict = self.core.verdict
        assert verdict is not None
        if isinstance(proposal, Claim) and proposal.owner == self.me and verdict is Verdict.ACCEPTED:
            self._won(proposal)
        return verdict

    def _won(self, claim: Claim) -> None:
        earlier = self.decisions.claims(claim.epoch)[:-1]
        back = any(one.owner == self.me for one in earlier)
        self.world.reached("reclaimed" if back else "took over" if earlier else "claim won", self)

    @property
    def has_read_all(self) -> bool:
        """Of the ordering log, as far as it knows that."""
        return self.log_at >= self._known_end

    def read_commits(self, end: int) -> None:
        """Take in the visible markers up to `end`."""
        markers = self.world.commits.visible
        while self._commits_at < end and self.alive:
            marker = markers[self._commits_at]
            self._commits_at += 1
            self.post(MarkerRecord(marker))

    # Thinking --------------------------------------------------------------------------------------------------------

    def think(self) -> None:
        """Time has passed: the core may want something; the engine may begin the next epoch."""
        config = self.decisions.config
        if config is None:
            self._propose_config()
            return
        if not self._joined and config.generation == self.generation:
            if config.digest != PROGRAMS[self.program]:
                self.world.reached("a replica of another program was refused")
                self.crash()
                return
            self._joined = True
        self.post(_TICKS[self.has_read_all])
        self.engine.go_on()
        if self.publication.head <= self.decisions.last_epoch or self.core.state.candidate:
            self.tick_after(TICK_MS)

    def _propose_config(self) -> None:
        if self.now_ms - self._config_proposed > 100:
            self._config_proposed = self.now_ms
            common = has_common(self.world.schedule)
            self.append(Config(0, PROGRAMS[self.program], self.world.start, self.name, barriers=common))
        self.tick_after(50.0)

    # What an epoch becomes ------------------------------------------------------------------------------------------

    def compute(self, what: EpochRange, answers: Answers) -> tuple[int, list[list[Row]]]:
        """The state after an epoch, and its rows."""
        return compute(self.state, what, answers, self.program)

    def keep_state(self, what: EpochRange, state: int) -> None:
        """The state after an epoch lasts in some way; it counts for others once the epoch is compared."""
        self._kept[what.epoch] = state
        self._lend()

    def _lend(self) -> None:
        deviation = self.world.deviation
        everything = deviation.lends_uncompared or deviation.restores_unpublished
        for epoch in [one for one in self._kept if everything or one <= self.publication.compared]:
            self.lend(epoch, self._kept.pop(epoch))

    def lend(self, epoch: int, state: int) -> None:
        """Others may go on from this replica's state after `epoch`."""
        self.world.states.setdefault(epoch, state)

    def on_ended(self, action: Publish, outcome: Outcome) -> None:
        """An attempt to publish has ended; the core is not told yet."""
