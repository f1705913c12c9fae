"""The product's rules of publication, and of questions, with one of them taken away or changed; `guards` uses them."""

from tandem.core.asking import Asking
from tandem.protocol.actions import Action, Fence, Idle, ReadToEnd, RenewProducer, Step, TakingOver
from tandem.protocol.decisions import Decisions
from tandem.protocol.publication import Publication
from tandem.protocol.values import Answers, Claim, Marker


class ReadsBeforeItFences(Publication):
    """Takes over, reading to the end and only then fencing."""

    def take_over_steps(self, claim: Claim) -> tuple[Step, ...]:
        steps = super().take_over_steps(claim)
        return tuple(sorted(steps, key=lambda step: isinstance(step, Fence)))


class NeverFences(Publication):
    """Takes over without fencing anybody."""

    def take_over_steps(self, claim: Claim) -> tuple[Step, ...]:
        return tuple(step for step in super().take_over_steps(claim) if not isinstance(step, Fence))


class FencesOnlyTheLastOwner(Publication):
    """Takes over from somebody who took over, and fences only that one."""

    def take_over_steps(self, claim: Claim) -> tuple[Step, ...]:
        last = self.decisions.claims(claim.epoch)[claim.attempt - 1].owner if claim.attempt else ""
        steps = super().take_over_steps(claim)
        return tuple(Fence(tuple(o for o in s.owners if o == last)) if isinstance(s, Fence) else s for s in steps)


class FencesOnlyItsGeneration(Publication):
    """Takes over from owners of an earlier generation without fencing them, as if they were dead for certain."""

    def take_over_steps(self, claim: Claim) -> tuple[Step, ...]:
        others = {c.owner for c in self.decisions.claims(claim.epoch) if c.generation < self.generation}
        steps = super().take_over_steps(claim)
        return tuple(Fence(tuple(o for o in s.owners if o not in others)) if isinstance(s, Fence) else s for s in steps)


class TakesOverWithoutReading(Publication):
    """Takes over, fences, and publishes at once."""

    def take_over_steps(self, claim: Claim) -> tuple[Step, ...]:
        return tuple(step for step in super().take_over_steps(claim) if not isinstance(step, ReadToEnd))


class FencesBeforeItClaims(Publication):
    """Takes over by fencing first and claiming then, so that the fenced owner finds no claim when it looks."""

    _fenced_before: Claim | None = None

    def take_over_steps(self, claim: Claim) -> tuple[Step, ...]:
        return (ReadToEnd(),) if claim.attempt else ()

    def next_action(self, now_ms: float) -> Action | None:
        claim = self.decisions.owner(self.head)
        could = isinstance(self.phase, Idle) and self.head in self.to_claim() and claim != self._fenced_before
        if could and claim is not None and claim.owner != self.me and self.is_overdue(claim, now_ms):
            self._fenced_before = claim
            return self.begin(TakingOver(claim, (Fence((claim.owner,)),)))
        return super().next_action(now_ms)


class TrustsAnEarlierFence(Publication):
    """Takes over without fencing who was fenced once, before this claim."""

    _fenced: frozenset[str] = frozenset()

    def fenced_with(self, owners: tuple[str, ...]) -> frozenset[Claim]:
        self._fenced |= {*owners, self.me}
        return super().fenced_with(owners)

    def is_fenced_for(self, claim: Claim) -> bool:
        return self._fenced.issuperset(self.earlier_owners(claim))


class RenewsBeforeItReclaims(Publication):
    """Renews its producer when it takes its own epoch back: a step that may be given up together with the reading."""

    def take_over_steps(self, claim: Claim) -> tuple[Step, ...]:
        mine = any(c.owner == self.me for c in self.decisions.claims(claim.epoch)[: claim.attempt])
        steps = super().take_over_steps(claim)
        return (RenewProducer(), *steps) if mine and steps else steps


class RenewsWithoutReading(Publication):
    """Publishes again with a renewed producer, without looking whether somebody took over meanwhile."""

    def renewal_steps(self) -> tuple[Step, ...]:
        return (RenewProducer(),)


class GoesOnWithItsProducer(Publication):
    """Publishes again with the same producer, although a commit of it may still arrive."""

    def renewal_steps(self) -> tuple[Step, ...]:
        return (ReadToEnd(),)


class PublishesAhead(Publication):
    """Does not wait for the marker of the epoch before."""

    def candidates(self) -> tuple[int, ...]:
        return tuple(epoch for epoch in (self.head, self.head + 1) if epoch != self._committed)


class NeverConcedes(Publication):
    """Publishes what it once claimed, whoever claimed it since."""

    def claim_of(self, epoch: int) -> Claim | None:
        own = [claim for claim in self.decisions.claims(epoch) if claim.owner == self.me]
        return own[-1] if own else super().claim_of(epoch)


class TrustsItsProposal(Publication):
    """Takes its claim for accepted as soon as it is sent."""

    def claim_of(self, epoch: int) -> Claim | None:
        return super().claim_of(epoch) or self.proposed(epoch)


class ForgetsThatItCommitted(Publication):
    """Does not wait for its own marker."""

    def candidates(self) -> tuple[int, ...]:
        return (self.head,)


class ForgetsThatRowsMayBeOut(Publication):
    """At most once: publishes rows again after an attempt whose outcome is unknown."""

    def may_be_out(self, claim: Claim) -> bool:
        return claim.attempt > 0


class ClaimsForOthers(Publication):
    """Claims whatever it has computed, whichever generation it is of."""

    def is_my_turn(self, epoch: int, now_ms: float) -> bool:  # noqa: ARG002
        return True


class NeverSuperseded(Publication):
    """Goes on publishing although a later generation has begun to."""

    def is_superseded(self, marker: Marker) -> bool:  # noqa: ARG002
        return False


class ClaimsAhead(Publication):
    """Claims the next epoch before it is cut."""

    def to_claim(self) -> list[int]:
        return [*super().to_claim(), self.decisions.last_epoch + 1]


class NeverCompares(Publication):
    """Goes on whatever the others have computed."""

    def agrees(self, digest: str, marker: Marker) -> bool:  # noqa: ARG002
        return True


class TrustsItsAnswer(Asking):
    """Computes with the answer that it got, whatever stands in the log."""

    def answer_of(self, epoch: int, question: str, decisions: Decisions) -> Answers | None:
        proposed = [part for one in self._open if one.question == question for part in one.proposed]
        mine = tuple(answer for part in proposed for answer in part.answers)
        return mine or super().answer_of(epoch, question, decisions)
