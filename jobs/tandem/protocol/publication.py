"""Claim, then publish; or take over. The state machine of one replica, without any I/O.

The runtime (or the simulator) feeds it what it read and did, asks `next_action`, carries that out, and reports back. Why
no epoch is ever published twice, whoever pauses, dies or comes back:

1. An epoch's attempts are numbered in the log, so each has one owner, and only an owner publishes.
2. Whoever takes over appends its claim, *then* fences every earlier owner, *then* reads both topics to their ends, and
   publishes only if it still owns the epoch and no marker was there. A transaction of an earlier owner has then either
   committed before the fence, and its marker was read, or can never commit.
3. A producer that was renewed could commit again although somebody fenced it. So a renewal is followed by the same
   reading to the end, and the claim of whoever fenced is found there, because it was appended before the fence.
4. Epoch n + 1 is published only after the marker of n was read, so markers are contiguous.
5. Generations follow each other at one epoch: the log refuses claims of an earlier generation than the epoch's. A later one
   may publish what its own does not publish; whoever reads a marker of a later generation has published its last epoch.
"""

from __future__ import annotations

from enum import Enum

from tandem.protocol.actions import (
    Action,
    Fence,
    Idle,
    Outcome,
    Phase,
    ProposeClaim,
    Publish,
    Publishing,
    ReadToEnd,
    Renewing,
    RenewProducer,
    Step,
    TakingOver,
)
from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.silence import SilenceBound
from tandem.protocol.transaction_time import LONGEST_S
from tandem.protocol.values import Claim, Config, Cut, Marker, Proposal

# An owner may try one transaction after the other, each with twice the time, until the longest one has failed too.
_LONGEST_PATIENCE_MS = 2_000.0 * LONGEST_S
_MOST_DOUBLINGS = 64  # no number is too large for them

ANYBODY = ""
"""In the place of a successor: whichever other incarnation."""


class Delivery(Enum):
    """What the reader of the output may rely on."""

    EXACTLY_ONCE = "exactlyOnce"
    AT_LEAST_ONCE = "atLeastOnce"
    AT_MOST_ONCE = "atMostOnce"


class DivergedError(Exception):
    """This replica computed other rows for an epoch than the published ones."""

    def __init__(self, epoch: int, mine: str, published: Marker) -> None:
        super().__init__(f"epoch {epoch}: computed digest {mine}, published {published.digest} by {published.owner}")
        self.epoch, self.mine, self.published = epoch, mine, published


class SupersededError(Exception):
    """A later generation of the job publishes: this replica has nothing left to do."""


class MissingMarkerError(Exception):
    """The commits topic has a gap: its retention was shortened, or somebody deleted records from it."""


class ProtocolMisuseError(Exception):
    """The runtime reported what it was not asked for, or the state machine broke one of its own rules: a fault of Tandem."""


class Publication:
    """Decides, for one incarnation of a replica, what to claim, publish, take over or drop.

    Parameters
    ----------
    me : transactional id of this incarnation; its producer must be initialised before the first call of `next_action`.
    decisions : the fold of the ordering log; fed through `on_proposal` only.
    head : the first epoch whose marker has not been read.
    bound : adaptive bound on the time between a claim and its marker; also spaces repeated proposals.
    generation : the one whose code this replica runs. Epochs of earlier ones it computes, but does not claim or compare.
    """

    def __init__(
        self, me: str, decisions: Decisions, head: int, delivery: Delivery, bound: SilenceBound, generation: int = 0
    ) -> None:
        self.me = me
        self.decisions = decisions
        self.head = head
        self._delivery = delivery
        self._bound = bound
        self.generation = generation
        self._begun = False
        self._retired = False
        self._successor: str | None = None
        self._computed: dict[int, str] = {}
        self._published: dict[int, Marker] = {}
        self._proposed: dict[int, tuple[Claim, float]] = {}  # epoch -> the claim proposed last, when
        self._waiting_since = -float("inf")
        self.phase: Phase = Idle()
        self._under_way: Step | None = None
        self._committed: int | None = None
        self._unsure: int | None = None

    # What was read ---------------------------------------------------------------------------------------------------

    def on_proposal(self, proposal: Proposal, offset: int, now_ms: float) -> Verdict:
        """The next record of the ordering log."""
        verdict = self.decisions.apply(proposal, offset)
        if verdict is Verdict.ACCEPTED and self._begins_a_wait(proposal):
            self._waiting_since = now_ms
        if verdict is Verdict.ACCEPTED and isinstance(proposal, Claim) and self._succeeds(proposal.owner):
            self.retire()
        return verdict

    def _succeeds(self, owner: str) -> bool:
        return owner != self.me if self._successor == ANYBODY else owner == self._successor

    def _begins_a_wait(self, proposal: Proposal) -> bool:
        """Whether somebody else has something to do from now on: to claim the head, or to publish it."""
        match proposal:
            case Cut() | Claim():
                return proposal.epoch == self.head
            case _:
                return isinstance(proposal, Config)

    def on_marker(self, marker: Marker, now_ms: float) -> bool:
        """The next marker; whether it is news. Raises `DivergedError`, `MissingMarkerError`, `SupersededError`."""
        if marker.epoch < self.head:
            return False
        if self.is_superseded(marker):
            raise SupersededError(f"generation {marker.generation} publishes from epoch {marker.epoch} on")
        if marker.epoch > self.head:
            raise MissingMarkerError(f"expected the marker of epoch {self.head}, found that of {marker.epoch}")
        mine = self._computed.pop(marker.epoch, None)
        if mine is None:
            self._published[marker.epoch] = marker
        else:
            self._compare(marker.epoch, mine, marker)
        if self.decisions.is_claimed(marker.epoch) and now_ms >= self._waiting_since:
            self._bound.observe(now_ms - self._waiting_since)
        self._begun = marker.generation == self.generation
        self.head = marker.epoch + 1
        self._waiting_since = now_ms
        self._proposed.pop(marker.epoch, None)
        return True

    def on_computed(self, epoch: int, digest: str) -> bool:
        """This replica has computed `epoch`; whether its rows are still needed. Raises `DivergedError`."""
        marker = self._published.pop(epoch, None)
        if marker is not None:
            self._compare(epoch, digest, marker)
        if epoch < self.head:
            return False
        self._computed[epoch] = digest
        return True

    # What was done ---------------------------------------------------------------------------------------------------

    def done(self, step: Step, outcome: Outcome | None = None) -> None:
        """The runtime has carried out `step`, which `next_action` gave it last; `outcome`: of a `Publish`.

        Raises `ProtocolMisuseError` if it was not asked for that.
        """
        if step is not self._under_way:
            raise ProtocolMisuseError(f"{step} was reported as done, but under way is {self._under_way}")
        if (outcome is None) == isinstance(step, Publish):
            raise ProtocolMisuseError(f"{step} was reported as done with the outcome {outcome}")
        self._under_way = None
        match self.phase:
            case TakingOver(claim, steps):
                self.phase = TakingOver(claim, steps[1:])
            case Renewing(steps):
                self.phase = Renewing(steps[1:]) if steps[1:] else Idle()
            case Publishing(claim) if outcome is Outcome.COMMITTED:
                self.phase, self._committed = Idle(), claim.epoch
            case Publishing(claim):
                self.phase, self._unsure = Renewing(self.renewal_steps()), claim.epoch
        self.check()

    def check(self) -> None:
        """Raises `ProtocolMisuseError` if a rule that always holds does not; cheap."""
        phase, under_way = self.phase, self._under_way
        rules = {
            "the step under way is the phase's next one": under_way is None or phase.steps[:1] == (under_way,),
            "an idle one has nothing to do": not isinstance(phase, Idle) or not phase.steps,
            "only an owner publishes": not isinstance(phase, Publishing) or phase.claim.owner == self.me,
            "what is published is not kept": all(epoch >= self.head for epoch in self._computed),
            "only what is published is compared later": all(epoch < self.head for epoch in self._published),
        }
        broken = [rule for rule, holds in rules.items() if not holds]
        if broken:
            raise ProtocolMisuseError(f"broken: {'; '.join(broken)}; {phase}, head {self.head}")

    def retire(self) -> None:
        """This incarnation is about to go: it claims nothing any more, and only publishes what it owns."""
        self._retired = True

    def retire_after(self, successor: str) -> None:
        """Retire once `successor`, or `ANYBODY` else, has claimed an epoch: it is as quick then, no reader waits for it."""
        self._successor = successor

    @property
    def retired(self) -> bool:
        """Whether it claims nothing any more."""
        return self._retired

    @property
    def owes(self) -> bool:
        """Whether an epoch waits for this incarnation: it has claimed it, or its claim was not read yet."""
        owners = [self.decisions.owner(epoch) for epoch in self._proposed if epoch >= self.head]
        return any(claim is None or claim.owner == self.me for claim in owners)

    # What to do ------------------------------------------------------------------------------------------------------

    def next_action(self, now_ms: float) -> Action | None:
        """What to do next, or None: wait for news. At most one action but claims is under way at a time."""
        if self._under_way is not None:
            return None
        if isinstance(self.phase, Renewing):
            return self.begin(self.phase)
        return self.next_claim(now_ms) or self._publish_head(now_ms)

    def next_claim(self, now_ms: float) -> ProposeClaim | None:
        """Claim what is computed and claimed by nobody; propose again what the log did not show in time.

        Also while another action is under way: a claim only says "ask me", and whoever is asked too late is fenced.
        """
        for epoch in self.to_claim():
            if epoch >= self.head and not self.decisions.is_claimed(epoch) and self.is_my_turn(epoch, now_ms):
                return self._propose(epoch, 0, now_ms)
        return None

    def to_claim(self) -> list[int]:
        """Epochs that this replica could claim: what it has computed, in order."""
        return sorted(self._computed)

    def is_my_turn(self, epoch: int, now_ms: float) -> bool:
        """Whether to claim `epoch`, as far as generations go: what is left of the one before waits for its own replicas."""
        if self._retired:
            return False
        config, of = self.decisions.config, self.decisions.generation_of(epoch)
        if config is None or not of <= self.generation <= config.generation:
            return False
        return of == self.generation or self._begun or now_ms - self._waiting_since > self._bound.most_ms

    def is_superseded(self, marker: Marker) -> bool:
        """Whether `marker` ends what this replica's generation publishes."""
        return marker.generation > self.generation

    def take_over_steps(self, claim: Claim) -> tuple[Step, ...]:
        """What must be done between a claim that takes over and its publication, in this order.

        No `RenewProducer` here, even where an earlier owner is this incarnation, fenced meanwhile: these steps are given up
        when the head moves on, and a renewal whose reading to the end is given up would undo that fence (see 3 above).
        """
        earlier = dict.fromkeys(c.owner for c in self.decisions.claims(claim.epoch) if c.attempt < claim.attempt)
        if self._delivery is not Delivery.EXACTLY_ONCE or not earlier:
            return ()
        return (Fence(tuple(owner for owner in earlier if owner != self.me)), ReadToEnd())

    def renewal_steps(self) -> tuple[Step, ...]:
        """What must be done after a transaction that was fenced, or whose outcome is unknown, in this order."""
        return (RenewProducer(), ReadToEnd())

    def claim_of(self, epoch: int) -> Claim | None:
        """The claim by which `epoch` is published: the log's, whatever was proposed, or counted before."""
        return self.decisions.owner(epoch)

    def is_on_its_way(self, epoch: int) -> bool:
        """Whether this incarnation has committed `epoch`, and its marker was not read yet."""
        return epoch == self._committed

    def may_be_out(self, claim: Claim) -> bool:
        """Whether rows may be out already: those of the owner before, or its own, of an attempt whose outcome is unknown."""
        return claim.attempt > 0 or claim.epoch == self._unsure

    def agrees(self, digest: str, marker: Marker) -> bool:
        """Whether rows with `digest` are the published ones, as far as they can be compared."""
        return marker.generation != self.generation or marker.skipped or digest == marker.digest

    def predecessor_seen(self, claim: Claim) -> bool:
        """Whether the marker of the epoch before was read."""
        return claim.epoch == self.head

    def proposed(self, epoch: int) -> Claim | None:
        """What this incarnation proposed last for `epoch`, whether or not the log has shown it."""
        return self._proposed[epoch][0] if epoch in self._proposed else None

    def is_lost(self, proposed_ms: float, now_ms: float) -> bool:
        """Whether a proposal that the log has not shown is given up, and made again."""
        return now_ms - proposed_ms >= self._bound.most_ms

    def _propose(self, epoch: int, attempt: int, now_ms: float) -> ProposeClaim | None:
        claim = Claim(epoch, attempt, self.me, self.generation)
        last, at = self._proposed.get(epoch, (None, now_ms))
        if last == claim and not self.is_lost(at, now_ms):
            return None
        self._proposed[epoch] = (claim, now_ms)
        return ProposeClaim(claim)

    def _publish_head(self, now_ms: float) -> Action | None:
        for epoch in self.candidates():
            claim = self.claim_of(epoch)
            if epoch not in self._computed or claim is None or self.is_on_its_way(epoch):
                continue
            if claim.owner != self.me:
                return self._take_over(claim, now_ms)
            if self.predecessor_seen(claim):
                return self._prepare(claim)
        return None

    def candidates(self) -> tuple[int, ...]:
        """Epochs that may be published next: only the head, because markers are contiguous."""
        return (self.head,)

    def _take_over(self, claim: Claim, now_ms: float) -> ProposeClaim | None:
        """Claim the next attempt if the owner has been silent for too long."""
        if not self.is_overdue(claim, now_ms) or not self.is_my_turn(claim.epoch, now_ms):
            return None
        return self._propose(claim.epoch, claim.attempt + 1, now_ms)

    def is_overdue(self, claim: Claim, now_ms: float) -> bool:
        """Whether the owner of the head has been silent for too long."""
        return now_ms - self._waiting_since > self.patience_ms(claim)

    def patience_ms(self, claim: Claim) -> float:
        """How long an owner may be silent.

        Who took over has fencing and reading to do before it can publish. So each attempt gets twice the time of the one
        before: else two that are slower than the bound would fence each other for ever. It ends with the longest that a
        transaction may take, not with the bound: that knows nothing of how large the epoch is.
        """
        doubled = self._bound.ms * 2.0 ** min(claim.attempt, _MOST_DOUBLINGS)
        return min(doubled, max(_LONGEST_PATIENCE_MS, self._bound.most_ms))

    def _prepare(self, claim: Claim) -> Step:
        """The next step towards publishing under `claim`, or the publication itself."""
        if not isinstance(self.phase, TakingOver) or self.phase.claim != claim:
            self.phase = TakingOver(claim, self.take_over_steps(claim))
        if self.phase.steps:
            return self.begin(self.phase)
        skipped = self._delivery is Delivery.AT_MOST_ONCE and self.may_be_out(claim)
        return self.begin(Publishing(claim, (Publish(claim.epoch, claim.attempt, skipped),)))

    def begin(self, phase: Phase) -> Step:
        """Enter or go on in `phase`: its first step is under way until `done` is called with it."""
        self.phase, self._under_way = phase, phase.steps[0]
        self.check()
        return self._under_way

    def _compare(self, epoch: int, mine: str, marker: Marker) -> None:
        if not self.agrees(mine, marker):
            raise DivergedError(epoch, mine, marker)
