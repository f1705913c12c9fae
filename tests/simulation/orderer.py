"""An orderer: proposes cuts when the real `Pace` says so, as leader, as heartbeat generator, or for want of a leader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.process import Process
from tandem.protocol.cutting import next_ends
from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.pace import PaceSettings
from tandem.protocol.silence import SilenceBound
from tandem.protocol.values import Claim, Cut, Positions, Progress, Proposal

if TYPE_CHECKING:
    from simulation.world import World

_BEAT_MS = 10.0
_AGAIN_MS = 60.0
_AHEAD = 2


class Orderer(Process):
    """In leader mode `leading` is what it believes, rightly or not; a heartbeat generator always proposes."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(world, name)
        self.leading = False
        self._decisions = Decisions()

    def start(self) -> None:
        """A new incarnation: reads on from the last marker that it finds."""
        super().start()
        last = self.world.last_marker()
        self._decisions = self.decisions_since(last)
        self._pace = self.world.deviation.pace(PaceSettings(live_ms=200.0), SilenceBound(20.0, 120.0))
        self._pace.resume(last)
        self._proposed: tuple[int, float, Positions] | None = None
        self.leading = self.world.schedule.heartbeat
        if not self.world.schedule.heartbeat:
            self.session = self.world.ensemble.connect(self)
        self.wake()

    @property
    def leads(self) -> bool:
        """Whether it is there, if only paused, and believes that it was elected."""
        return self.alive and self.leading and not self.world.schedule.heartbeat

    def session_lost(self) -> None:
        """ZooKeeper has given the session up, and this process learns it only now."""
        self.leading = False
        self.session = self.world.ensemble.connect(self)

    def told(self, leading: bool) -> None:
        """What it believes from now on."""
        self.leading = leading
        if leading:
            self.think()
            self.world.reached("elected", self)

    @property
    def decisions(self) -> Decisions:
        """What the log has decided, as far as read."""
        return self._decisions

    def follow(self) -> bool:
        """Read the ordering log."""
        end = len(self.world.log.records)
        self.read_log(self.glimpse(self.log_at, end))
        return self.log_at == end

    def on_record(self, proposal: Proposal, offset: int) -> Verdict:
        """The next record of the ordering log."""
        verdict = self._decisions.apply(proposal, offset)
        if verdict is Verdict.ACCEPTED:
            if isinstance(proposal, Cut):
                self._pace.cut(proposal.epoch, self.now_ms, proposal.proposer == self.name)
            elif isinstance(proposal, Claim):
                self._pace.claimed(proposal.epoch, self.now_ms)
        elif isinstance(proposal, Progress):
            self._pace.progress(proposal.replica, proposal.epoch, proposal.epoch_ms, self.now_ms)
        return verdict

    def think(self) -> None:
        """Propose the next cut if it is due."""
        if self._decisions.config is None:
            return
        available = self.world.look_at_inputs()
        if available.records_since(self._decisions.last_ends) > 0:
            self._pace.input_seen(self.now_ms)
            if self._pace.wants_cut(self.now_ms, self.leading or self._pace.acts):
                self._propose(available)
            self.tick_after(_BEAT_MS)
        elif available is not self.world.available:
            self.tick_after(_BEAT_MS)

    def _propose(self, available: Positions) -> None:
        epoch, last = self._decisions.last_epoch + 1, self._decisions.last_ends
        if self._proposed is not None and self._proposed[0] >= epoch:
            proposed, at, ends = self._proposed
            recent = self.now_ms - at < _AGAIN_MS or self.world.deviation.proposes_cuts_once
            if recent and not (self.world.schedule.eager and proposed < epoch + _AHEAD):
                return
            if recent:
                epoch, last = proposed + 1, ends
        ends = next_ends(last, available, self.world.schedule.max_records, epoch)
        self._proposed = (epoch, self.now_ms, ends)
        wall_clock = int(self.now_ms)
        self.append(Cut(epoch, ends, wall_clock, self.world.rng.getrandbits(32), self.name))
        self.world.proposed(self, epoch)
        self.world.reached("cut sent", self)

    def on_appended(self, life: int) -> None:
        """A cut stands in the log, but this process does not know."""
        was = "" if self.life != life or not self.alive else "leader" if self.leads else "proposer"
        super().on_appended(life)
        if was:
            self.world.timeline.after(self.world.delay(), None, self._acknowledged, was, life)

    def _acknowledged(self, was: str, life: int) -> None:
        if self.life != life or not self.alive:
            self.world.reached(f"a {was} died between append and acknowledgement")
