"""A replica of a job with standbys or snapshots: it stands by until it is promoted, restores its state, and goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from simulation.peers import SimulatedPeers, tell_of_end
from simulation.replica import Replica
from simulation.states import NOTHING, Checkpoint, Machine, States
from tandem.coordination.slots import Slots
from tandem.core.effects import Exit
from tandem.core.events import Leave, LogRecord, Tick
from tandem.core.standby import Promote, Promotion, Seen, StandbyCore, TellRole
from tandem.protocol.actions import Outcome, Publish
from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.publication import ANYBODY
from tandem.protocol.silence import SilenceBound
from tandem.protocol.switchover import Role
from tandem.protocol.values import EpochRange, Proposal
from tandem.replica.handover import DrainedError, Duty, SteppedDownError

if TYPE_CHECKING:
    from simulation.slots import SimulatedMember
    from simulation.world import World
    from tandem.coordination.peers import Peers

_TICK_MS = 12.0
_DUTY_MS = 20.0
_SLOWER = 3.0
_EXIT_MS = 60.0
_HAND_OVER_MS = 400.0
_SETTLED_MS = 20.0
_PROVED_EPOCH = 3
"""A standby says that it has proved its state once it has read so far: not all of them at the same time."""


_WORDS = {
    Promotion.SLOT: "by slot",
    Promotion.ENDED: "by an end",
    Promotion.WISH: "by wish",
    Promotion.SILENCE: "by silence",
}


class WaitsForASlot(StandbyCore):
    """Stands by, however silent the log is."""

    def is_silent(self, now_ms: float) -> bool:  # noqa: ARG002
        return False


class StandbyReplica(Replica):
    """Runs the product's `StandbyCore`, `Slots` and `Duty` around what every replica does."""

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
        self._stops_by: float | None = None  # it was told to stop, and waits for its successor until then
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
        bound = SilenceBound(settings.least_silence_ms, settings.most_silence_ms, factor=_SLOWER)
        kind = WaitsForASlot if self.world.deviation.waits_for_a_slot else StandbyCore
        self._following = kind(self.decisions_since(self.world.last_marker()), bound, self.generation)
        self.peers = SimulatedPeers(self) if settings.detects else None
        peers = cast("Peers | None", self.peers)
        self._slots = Slots({"replica": self}, "job", settings.slots, self.me, lambda: self.now_ms / 1000, peers)
        self._duty = Duty(self._slots, lambda: self.now_ms / 1000, _SETTLED_MS / 1000)
        self._slots.start()
        self._running = True
        self.world.reached("standing by", self)
        self.wake()

    @property
    def decisions(self) -> Decisions:
        """What the log has decided, as far as read."""
        return super().decisions if self._following is None else self._following.decisions

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
        slots, has_proved = self._slots, self._following.decisions.last_epoch >= _PROVED_EPOCH
        seen = Seen(slots.slot, slots.replaces_ended, slots.is_summoned, slots.must_end, has_proved)
        match self._following.step(seen, self.now_ms):
            case Promote(why):
                self._promote(_WORDS[why])
            case TellRole(role):
                slots.tell(role)
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
        self._check_duty()

    def keep_state(self, what: EpochRange, state: int) -> None:
        """A checkpoint on this machine."""
        self._checkpoint = self._checkpoint.next(what.epoch, what.log_offset, state)
        self.own[what.epoch] = self._checkpoint
        self.machine.keep(self._checkpoint)

    def on_ended(self, action: Publish, outcome: Outcome) -> None:
        """A published epoch is offered to the snapshots."""
        if outcome is Outcome.COMMITTED and self.world.redundancy.store:
            self._states.offer(action.epoch, f"{self._state:x}" if action.epoch == self._epoch else "")

    # Going ---------------------------------------------------------------------------------------------------------

    def _check_duty(self) -> None:
        """Often while it is active: is it one too many, relieved, told to stop?"""
        if self._slots is None:
            return
        if self._leaves:
            self.post(Tick())
            if not self.alive:
                return
        elif self._stops_by is not None:
            over = self._slots.relief is not None or not self._slots.can_hand_over
            if over or self.world.timeline.now > self._stops_by:
                self.world.reached("handed over" if self._slots.relief else "stopped without handing over")
                self._leave()
        else:
            try:
                state = self.core.state
                self._duty.check(state.ready, state.keeps_up)
            except SteppedDownError:
                if not self.world.deviation.never_steps_down:
                    self.world.reached("relieved" if self._slots.relief else "a surplus active stepped down", self)
                    self._leave()
            except DrainedError:
                self._drained()
                return
        self.world.timeline.after(_DUTY_MS, self, self._check_duty)

    def stop(self, down_ms: float) -> None:
        """It is told to stop, and is started again `down_ms` after it has."""
        self._down_ms = down_ms
        if self._slots is None or not self.is_active:
            self._exit()
        elif self._stops_by is None:
            self._stops_by = self.world.timeline.now + _HAND_OVER_MS
            self._slots.leave()

    def _leave(self) -> None:
        self._leaves = True
        relief = None if self._slots is None else self._slots.relief
        self.post(Leave(ANYBODY if relief is None else relief.incarnation))

    def on_exit(self, error: Exception | None) -> None:
        """It has left, and owes nothing; or something is wrong."""
        if error is None:
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
