"""A replica of a job with standbys or snapshots: it stands by until it is promoted, restores its state, and goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from simulation.peers import SimulatedPeers, tell_of_end
from simulation.replica import Replica
from simulation.states import NOTHING, Checkpoint, Machine, States
from tandem.coordination.slots import Slots
from tandem.core.active_role import DrainedError, SteppedDownError
from tandem.core.effects import Effect, Exit, HandedOver, SeekSuccessor, TellRole
from tandem.core.events import LogRecord, Stop
from tandem.core.standby import Promote, Promotion, StandbyCore
from tandem.protocol.actions import Outcome, Publish
from tandem.protocol.decisions import Verdict
from tandem.protocol.switchover import Role
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import EpochRange, Proposal

if TYPE_CHECKING:
    from simulation.slots import SimulatedMember
    from simulation.world import World
    from tandem.coordination.peers import Peers

_TICK_MS = 12.0
_ACTIVE_ROLE_MS = 20.0
_SLOWER = 3.0
_EXIT_MS = 60.0
_PROVED_EPOCH = 3
"""A standby says that it has proved its state once it has read so far: not all of them at the same time."""


_WORDS = {
    Promotion.SLOT: "by slot",
    Promotion.ENDED: "by an end",
    Promotion.REQUEST: "by request",
    Promotion.SILENCE: "by silence",
}


class WaitsForASlot(StandbyCore):
    """Stands by, however silent the log is."""

    def is_silent(self, now_ms: float) -> bool:  # noqa: ARG002
        return False


class StandbyReplica(Replica):
    """Runs the product's `StandbyCore` and `Slots` around what every replica does."""

    member: SimulatedMember
    peers: SimulatedPeers | None = None

    def __init__(self, world: World, name: str, compute_ms: float, machine: Machine) -> None:
        super().__init__(world, name, compute_ms)
        self.machine = machine
        self.wall_offset_ms = world.rng.randint(-2, 2)
        self.own: dict[int, Checkpoint] = {}
        self._slots: Slots | None = None
        self._following: StandbyCore | None = None  # while it stands by

    def start(self) -> None:
        """A new incarnation knows of nothing but what is on its machine."""
        self.own = {}
        self._checkpoint = NOTHING
        self._following = self.session = self._slots = self.peers = None
        self._leaves = False  # it only finishes what it owes
        self._down_ms = _EXIT_MS
        super().start()
        self._states = States(self)

    @property
    def stands_by(self) -> bool:  # type: ignore[override]
        """Whether it follows the log without computing."""
        return self.alive and self._following is not None

    @property
    def is_active(self) -> bool:
        """Whether it computes."""
        return self.alive and self._running and self._following is None and not self._leaves

    def _restore(self) -> None:
        if self.world.redundancy.standbys:
            self._stand_by()
        else:
            self._states.find(self._found)

    def crash(self) -> None:
        """It dies."""
        if self.alive and self._slots is not None and not self._running:
            self.world.reached("a standby died during its promotion")
        if self.alive and self.peers is not None:
            tell_of_end(self.world, self.me)
        super().crash()

    # Standing by -----------------------------------------------------------------------------------------------------

    def _stand_by(self) -> None:
        settings = self.world.redundancy
        bound = AdaptiveTimeout(settings.least_silence_ms, settings.most_silence_ms, factor=_SLOWER)
        kind = WaitsForASlot if self.world.deviation.waits_for_a_slot else StandbyCore
        self.decisions = self.decisions_since(self.world.last_marker())
        self._following = kind(self.decisions, bound, self.generation)
        self.peers = SimulatedPeers(self) if settings.detects else None
        peers = cast("Peers | None", self.peers)
        self._slots = Slots(
            {"replica": self}, self.world.called("folder"), settings.slots, self.me, lambda: self.now_ms / 1000, peers
        )
        self._slots.start()
        self._running = True
        self.world.reached("standing by", self)
        self.wake()

    def follow(self) -> bool:
        """Read the ordering log; of the commits topic a standby needs nothing."""
        if self._following is None:
            return super().follow() if self._running else True
        end = len(self.world.log.records)
        self.read_log(self.glimpse(self.log_at, end))
        return self.log_at == end

    def on_record(self, proposal: Proposal, offset: int) -> Verdict:
        """The next record of the ordering log."""
        if self._following is None:
            return super().on_record(proposal, offset)
        self._following.step(LogRecord(offset, proposal), self.now_ms)
        assert self._following.verdict is not None
        return self._following.verdict

    def think(self) -> None:
        """Whether to go on standing by; and if not, what every replica does."""
        if self._following is None:
            if self._running:
                super().think()
            return
        assert self._slots is not None
        has_proved = self._following.decisions.last_epoch >= _PROVED_EPOCH
        match self._following.step(self._slots.seen(has_proved), self.now_ms):
            case Promote(why):
                self._promote(_WORDS[why])
            case TellRole(role):
                self._slots.tell(role)
                self.tick_after(_TICK_MS)
            case Exit():
                self._drained()

    def _promote(self, why: str) -> None:
        world = self.world
        first = not world.checker.published
        away = world.timeline.now < world.ensemble.down_until
        world.tell(self, "is promoted", why)
        assert self._slots is not None
        self._following, self._running = None, False
        self._slots.tell(Role.CATCHING_UP)
        world.reached(f"promoted {why}{' at the start' if first else ' while ZooKeeper was away' if away else ''}")
        world.reached("promoted", self)
        self._states.find(self._found)

    # Active ----------------------------------------------------------------------------------------------------------

    def _found(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        skips = self.world.deviation.skips_replay and checkpoint.epoch >= 0
        self.go_on_from(self.world.last_marker() if skips else checkpoint.epoch, checkpoint.state)
        self.world.reached("went on", self)
        self._check_active_role()

    def keep_state(self, what: EpochRange, state: int) -> None:
        """A checkpoint on this machine."""
        self._checkpoint = self._checkpoint.next(what.epoch, what.log_offset, state)
        self.own[what.epoch] = self._checkpoint
        super().keep_state(what, state)

    def lend(self, epoch: int, state: int) -> None:  # noqa: ARG002
        """To others on this machine."""
        self.machine.keep(self.own[epoch])

    def on_ended(self, action: Publish, outcome: Outcome) -> None:
        """A published epoch is offered to the snapshots."""
        if outcome is Outcome.COMMITTED and self.world.redundancy.store:
            self._states.offer(action.epoch, f"{self.state:x}" if action.epoch == self.epoch else "")

    # Going ---------------------------------------------------------------------------------------------------------

    def _check_active_role(self) -> None:
        """Often while it is active: what does it see of the others?"""
        if self._slots is None:
            return
        self.post(self._slots.seen())
        if not self.alive:
            return
        if self.core.is_leaving and not self._leaves:
            self._leaves = True
            self.world.reached("relieved" if self._slots.successor_holder else "a surplus active stepped down", self)
        self.world.timeline.after(_ACTIVE_ROLE_MS, self, self._check_active_role)

    def carry_out(self, effect: Effect) -> None:
        """Begin to do what the core wants done."""
        match effect:
            case TellRole(role) if self._slots is not None:
                self._slots.tell(role)
            case SeekSuccessor() if self._slots is not None:
                self._slots.leave()
            case HandedOver(to):
                self._leaves = True
                self.world.reached("handed over" if to else "stopped without handing over")
        super().carry_out(effect)

    def stop(self, down_ms: float) -> None:
        """It is asked to stop, and is started again `down_ms` after it has."""
        self._down_ms = down_ms
        if self._slots is None or not self.is_active:
            self._exit()
        else:
            self.post(Stop())

    def on_exit(self, error: Exception | None) -> None:
        """It has left, and owes nothing; or something is wrong."""
        if isinstance(error, DrainedError):
            self._drained()
        elif error is None or isinstance(error, SteppedDownError):
            self._exit()
        else:
            super().on_exit(error)

    def _exit(self) -> None:
        self.world.tell(self, "ends")
        if self._slots is not None:
            self._slots.stop()
        tell_of_end(self.world, self.me)
        super().crash()
        self.world.timeline.after(self._down_ms, None, self._start_again, self.life)

    def _drained(self) -> None:
        """It ends for good."""
        self.world.tell(self, "is drained")
        self.world.reached("drained")
        if self._slots is not None:
            self._slots.stop()
        tell_of_end(self.world, self.me)
        super().crash()

    def _start_again(self, life: int) -> None:
        if self.life == life and not self.alive:
            self.start()

    # ZooKeeper -------------------------------------------------------------------------------------------------------

    def session_lost(self) -> None:
        """ZooKeeper has given the session up, and its nodes, and this replica learns it only now."""
        if self._slots is not None:
            self.member.session_lost()

    def told(self, leading: bool) -> None:
        """The connection is lost."""
        if self._slots is not None and not leading:
            self.member.disconnected()

    def reconnected(self) -> None:
        """The connection is back."""
        if self._slots is not None:
            self.member.reconnected()

    def nodes_changed(self) -> None:
        """Look at once."""
        if self._slots is not None:
            self.member.wake()

    def on_round(self) -> None:
        """It has looked at the nodes."""
        if self._following is not None:
            self.think()
