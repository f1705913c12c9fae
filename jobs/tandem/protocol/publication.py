"""Claim, then publish; or take over. The state machine of one replica, without any I/O.

The runtime (or the simulator) feeds it what it read and did, asks `next_action`, carries that out, and reports back. Why
no epoch is ever published twice, whichever process pauses, dies or comes back:

1. An epoch's attempts are numbered in the log, so each has one owner, and only an owner publishes.
2. A replica that takes over appends its claim, *then* fences every earlier owner, *then* reads both topics to their ends,
   and publishes only if it still owns the epoch and no marker was there. A transaction of an earlier owner has then either
   committed before the fence, and its marker was read, or can never commit. All that an owner has claimed is taken over at
   once, so one fence is enough for the claims that were read before it.
3. A producer that was renewed could commit again although somebody fenced it. So a renewal is followed by the same
   reading to the end, and the claim of the one that fenced is found there, because it was appended before the fence.
4. Epoch n + 1 is published only after the marker of n was read, so markers are contiguous.
5. Generations follow each other at one epoch: the log refuses claims of an earlier generation than the epoch's. A later one
   may publish what its own does not publish; a replica that reads a marker of a later one has published its last epoch.
"""

from tandem.protocol.actions import (
    Action,
    Fence,
    Idle,
    Outcome,
    Phase,
    ProposeClaim,
    Publish,
    Publishing,
    Renewing,
    Step,
    TakingOver,
)
from tandem.protocol.decisions import Verdict
from tandem.protocol.publication_rules import Computation, Delivery, PublicationRules
from tandem.protocol.values import Claim, Config, Cut, Marker, Proposal

ANYBODY = ""
"""In the place of a successor: whichever other incarnation."""


class DivergedError(Exception):
    """This replica computed other rows for an epoch than the published ones."""

    def __init__(self, epoch: int, mine: str, published: Marker) -> None:
        super().__init__(f"epoch {epoch}: computed digest {mine}, published {published.digest} by {published.owner}")
        self.epoch, self.mine, self.published = epoch, mine, published


class ChangedInputError(DivergedError):
    """This replica was given other records for an epoch than who published it: an input has lost some since."""

    def __init__(self, epoch: int, mine: Computation, published: Marker) -> None:
        super().__init__(epoch, mine.digest, published)
        self.args = (
            f"epoch {epoch}: its inputs have other records than when {published.owner} published it: "
            f"{_count(published.inputs)} then, {_count(mine.inputs)} now",
        )


def _count(inputs: str) -> str:
    return inputs.partition(":")[0]


class SupersededError(Exception):
    """A later generation of the job publishes: this replica has nothing left to do."""


class MissingMarkerError(Exception):
    """The commits topic has a gap: its retention was shortened, or somebody deleted records from it."""


class ProtocolMisuseError(Exception):
    """The runtime reported what it was not asked for, or the state machine broke one of its own rules: a fault of Tandem."""


class Publication(PublicationRules):
    """Decides, for one incarnation of a replica, what to claim, publish, take over or drop; its rules say when."""

    # What was read ---------------------------------------------------------------------------------------------------

    def on_proposal(self, proposal: Proposal, offset: int, now_ms: float) -> Verdict:
        """The next record of the ordering log."""
        verdict = self.decisions.apply(proposal, offset)
        if verdict is Verdict.ACCEPTED and self._begins_a_wait(proposal):
            self._waiting_since = now_ms
        if isinstance(proposal, Claim):
            self._silent.discard(proposal.owner)
            self.ended.lives(proposal.owner, now_ms)
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
        self._silent.discard(marker.owner)
        self.ended.lives(marker.owner, now_ms)
        self._fenced_for = {claim for claim in self._fenced_for if claim.epoch > marker.epoch}
        return True

    def published_elsewhere(self, epoch: int) -> Marker | None:
        """The marker of an epoch that this generation has published, and this replica has not computed."""
        marker = self._published.get(epoch)
        return marker if marker is not None and marker.generation == self.generation else None

    def on_computed(self, epoch: int, mine: Computation) -> bool:
        """This replica has computed `epoch`; whether its rows are still needed. Raises `DivergedError`."""
        marker = self._published.pop(epoch, None)
        if marker is not None:
            self._compare(epoch, mine, marker)
        if epoch < self.head:
            return False
        self._computed[epoch] = mine
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
                if not steps[1:]:
                    self._fenced_for |= self._fencing_for
            case Renewing(steps):
                self.phase = Renewing(steps[1:]) if steps[1:] else Idle()
            case Publishing(claim) if outcome is Outcome.COMMITTED:
                self.phase, self._committed = Idle(), claim.epoch
            case Publishing(claim):
                self.phase = Renewing(self.renewal_steps())
                self._unsure = self._unsure if outcome is Outcome.NOTHING_SENT else claim.epoch
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
        return any(self._waits_for_me(epoch) for epoch in self._proposed if epoch >= self.head)

    def _waits_for_me(self, epoch: int) -> bool:
        claim = self.decisions.owner(epoch)
        return claim is None or claim.owner == self.me or claim.attempt < self._proposed[epoch][0].attempt

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

        Also while another action is under way: a claim only says "ask me", and one that is asked too late is fenced.
        """
        for epoch in self.to_claim():
            is_free = epoch >= self.head and not self.decisions.is_claimed(epoch)
            if is_free and self.is_my_turn(epoch, now_ms) and not self.gives_way(epoch, now_ms):
                return self._propose(epoch, 0, now_ms)
        return self._next_of_silent(now_ms) if self._silent else None

    def _next_of_silent(self, now_ms: float) -> ProposeClaim | None:
        """Claim what else an owner has claimed, once the head was taken over from it, and nobody has heard of it since."""
        if self.taken_over(self.head) is None:
            return None
        for epoch in self.to_claim():
            claim = self.claim_of(epoch)
            if claim is not None and self.is_of_silent(claim) and self.is_my_turn(epoch, now_ms):
                proposal = self._propose(epoch, claim.attempt + 1, now_ms)
                if proposal is not None:
                    return proposal
        return None

    def _propose(self, epoch: int, attempt: int, now_ms: float) -> ProposeClaim | None:
        last, at = self._proposed.get(epoch, (None, now_ms))
        if last is not None and last.attempt == attempt and not self.is_lost(at, now_ms):
            return None
        claim = Claim(epoch, attempt, self.me, self.generation)
        self._proposed[epoch] = (claim, now_ms)
        return ProposeClaim(claim)

    def _publish_head(self, now_ms: float) -> Action | None:
        for epoch in self.candidates():
            claim = self.claim_of(epoch) if epoch in self._computed else None
            if claim is None:
                continue
            return self._prepare(claim, now_ms) if claim.owner == self.me else self._take_over(claim, now_ms)
        return None

    def _take_over(self, claim: Claim, now_ms: float) -> ProposeClaim | None:
        """Claim the next attempt if the owner has been silent for too long."""
        if not self.is_overdue(claim, now_ms) or not self.is_my_turn(claim.epoch, now_ms):
            return None
        self._silent.add(claim.owner)
        return self._propose(claim.epoch, claim.attempt + 1, now_ms)

    def _prepare(self, claim: Claim, now_ms: float) -> Step | None:
        """The next step towards publishing under `claim`, or the publication itself; None: more is to be read first."""
        if not isinstance(self.phase, TakingOver) or self.phase.claim != claim:
            self.phase = TakingOver(claim, self.take_over_steps(claim))
        if self.phase.steps:
            is_early = isinstance(self.phase.steps[0], Fence) and self._claims_more(now_ms)
            return None if is_early else self.begin(self.phase)
        skipped = self._delivery is Delivery.AT_MOST_ONCE and self.may_be_out(claim)
        return self.begin(Publishing(claim, (Publish(claim.epoch, claim.attempt, skipped),)))

    def _claims_more(self, now_ms: float) -> bool:
        """Whether claims of what a silent owner has claimed are on their way: one fence is enough for all that were read."""
        for claim, at in self._proposed.values():
            before = self.claim_of(claim.epoch) if claim.epoch > self.head else None
            if before is not None and before.attempt < claim.attempt and not self.is_lost(at, now_ms):
                return True
        return False

    def begin(self, phase: Phase) -> Step:
        """Enter or go on in `phase`: its first step is under way until `done` is called with it."""
        self.phase, self._under_way = phase, phase.steps[0]
        if isinstance(self._under_way, Fence):
            self._fencing_for = self.fenced_with(self._under_way.owners)
        self.check()
        return self._under_way

    def _compare(self, epoch: int, mine: Computation, marker: Marker) -> None:
        """Also the inputs: rows may be the same, and only the state another one, which shows in the rows of later epochs."""
        if not self.has_same_inputs(mine.inputs, marker):
            raise ChangedInputError(epoch, mine, marker)
        if not self.agrees(mine.digest, marker):
            raise DivergedError(epoch, mine.digest, marker)
        if marker.generation == self.generation:
            self.compared = epoch
