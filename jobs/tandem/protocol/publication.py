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
    Outcome,
    ProposeClaim,
    Publish,
    ReadToEnd,
    RenewProducer,
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
        self._proposed: dict[int, tuple[int, float]] = {}  # epoch -> attempt, when
        self._waiting_since = -float("inf")
        self._busy = False
        self._renewals: list[Action] = []
        self._prepared: Claim | None = None
        self._preparing: tuple[Claim, list[Action]] | None = None
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

    def fenced(self) -> None:
        """The last `Fence` is done."""
        self._step_done()

    def at_end(self) -> None:
        """The last `ReadToEnd` is done."""
        self._step_done()

    def renewed(self) -> None:
        """The last `RenewProducer` is done."""
        self._step_done()

    def published(self, epoch: int, outcome: Outcome) -> None:
        """The last `Publish` ended."""
        self._busy = False
        self._prepared = None
        if outcome is Outcome.COMMITTED:
            self._committed = epoch
        else:
            self._unsure = epoch
            self._renewals = self.renewal_steps()

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
        if self._busy:
            return None
        if self._renewals:
            return self._begin(self._renewals[0])
        return self.next_claim(now_ms) or self._publish_head(now_ms)

    def next_claim(self, now_ms: float) -> ProposeClaim | None:
        """Claim what is computed and claimed by nobody; propose again what the log did not show in time.

        Also while another action is under way: a claim only says "ask me", and whoever is asked too late is fenced.
        """
        for epoch in sorted(self._computed):
            if epoch >= self.head and not self.decisions.is_claimed(epoch) and self._is_my_turn(epoch, now_ms):
                return self._propose(epoch, 0, now_ms)
        return None

    def _is_my_turn(self, epoch: int, now_ms: float) -> bool:
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

    def take_over_steps(self, claim: Claim) -> list[Action]:
        """What must be done between a claim that takes over and its publication, in this order.

        No `RenewProducer` here, even where an earlier owner is this incarnation, fenced meanwhile: these steps are given up
        when the head moves on, and a renewal whose reading to the end is given up would undo that fence (see 3 above).
        """
        earlier = dict.fromkeys(c.owner for c in self.decisions.claims(claim.epoch) if c.attempt < claim.attempt)
        if self._delivery is not Delivery.EXACTLY_ONCE or not earlier:
            return []
        return [Fence(tuple(owner for owner in earlier if owner != self.me)), ReadToEnd()]

    def renewal_steps(self) -> list[Action]:
        """What must be done after a transaction that was fenced, or whose outcome is unknown, in this order."""
        return [RenewProducer(), ReadToEnd()]

    def may_publish(self, claim: Claim) -> bool:
        """Whether `claim` entitles this incarnation to publish its epoch now."""
        return claim.owner == self.me and claim == self.decisions.owner(claim.epoch) and self.predecessor_seen(claim)

    def predecessor_seen(self, claim: Claim) -> bool:
        """Whether the marker of the epoch before was read."""
        return claim.epoch == self.head

    def _propose(self, epoch: int, attempt: int, now_ms: float) -> ProposeClaim | None:
        last = self._proposed.get(epoch)
        if last is not None and last[0] == attempt and now_ms - last[1] < self._bound.most_ms:
            return None
        self._proposed[epoch] = (attempt, now_ms)
        return ProposeClaim(Claim(epoch, attempt, self.me, self.generation))

    def _publish_head(self, now_ms: float) -> Action | None:
        for epoch in self.candidates():
            claim = self.decisions.owner(epoch)
            if epoch not in self._computed or claim is None or epoch == self._committed:
                continue
            if claim.owner != self.me:
                return self._take_over(claim, now_ms)
            if self.may_publish(claim):
                return self._prepare(claim)
        return None

    def candidates(self) -> tuple[int, ...]:
        """Epochs that may be published next: only the head, because markers are contiguous."""
        return (self.head,)

    def _take_over(self, claim: Claim, now_ms: float) -> ProposeClaim | None:
        """Claim the next attempt if the owner has been silent for too long."""
        silent = now_ms - self._waiting_since > self.patience_ms(claim)
        if not silent or not self._is_my_turn(claim.epoch, now_ms):
            return None
        return self._propose(claim.epoch, claim.attempt + 1, now_ms)

    def patience_ms(self, claim: Claim) -> float:
        """How long an owner may be silent.

        Who took over has fencing and reading to do before it can publish. So each attempt gets twice the time of the one
        before: else two that are slower than the bound would fence each other for ever. It ends with the longest that a
        transaction may take, not with the bound: that knows nothing of how large the epoch is.
        """
        doubled = self._bound.ms * 2.0 ** min(claim.attempt, _MOST_DOUBLINGS)
        return min(doubled, max(_LONGEST_PATIENCE_MS, self._bound.most_ms))

    def _prepare(self, claim: Claim) -> Action:
        """The next step towards publishing under `claim`, or the publication itself."""
        if self._prepared != claim:
            if self._preparing is None or self._preparing[0] != claim:
                self._preparing = (claim, self.take_over_steps(claim))
            steps = self._preparing[1]
            if steps:
                return self._begin(steps[0])
            self._prepared, self._preparing = claim, None
        # Its rows may be out: those of the owner before, or mine, of an attempt whose outcome is unknown.
        perhaps_out = claim.attempt > 0 or claim.epoch == self._unsure
        skipped = self._delivery is Delivery.AT_MOST_ONCE and perhaps_out
        return self._begin(Publish(claim.epoch, claim.attempt, skipped))

    def _begin(self, action: Action) -> Action:
        self._busy = True
        return action

    def _step_done(self) -> None:
        self._busy = False
        if self._renewals:
            self._renewals.pop(0)
        elif self._preparing is not None:
            self._preparing[1].pop(0)

    def _compare(self, epoch: int, mine: str, marker: Marker) -> None:
        if marker.generation == self.generation and not marker.skipped and mine != marker.digest:
            raise DivergedError(epoch, mine, marker)
