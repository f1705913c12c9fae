"""The protocol with one of its guards removed: each must be found out by the simulation, or it guards nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from simulation.campaign import Failed, first_failure
from simulation.world import Deviation
from tandem.protocol import decisions
from tandem.protocol.publication import (
    Action,
    Delivery,
    Fence,
    Outcome,
    Publication,
    ReadToEnd,
    RenewProducer,
)
from tandem.protocol.values import Claim


class ReadsBeforeItFences(Publication):
    """Takes over, reading to the end and only then fencing."""

    def take_over_steps(self, claim: Claim) -> list[Action]:
        steps = super().take_over_steps(claim)
        return sorted(steps, key=lambda step: isinstance(step, Fence))


class NeverFences(Publication):
    """Takes over without fencing anybody."""

    def take_over_steps(self, claim: Claim) -> list[Action]:
        return [step for step in super().take_over_steps(claim) if not isinstance(step, Fence)]


class FencesOnlyTheLastOwner(Publication):
    """Takes over from somebody who took over, and fences only that one."""

    def take_over_steps(self, claim: Claim) -> list[Action]:
        last = self.decisions.claims(claim.epoch)[claim.attempt - 1].owner if claim.attempt else ""
        steps = super().take_over_steps(claim)
        return [Fence(tuple(o for o in s.owners if o == last)) if isinstance(s, Fence) else s for s in steps]


class TakesOverWithoutReading(Publication):
    """Takes over, fences, and publishes at once."""

    def take_over_steps(self, claim: Claim) -> list[Action]:
        return [step for step in super().take_over_steps(claim) if not isinstance(step, ReadToEnd)]


class FencesBeforeItClaims(Publication):
    """Takes over by fencing first and claiming then, so that the fenced owner finds no claim when it looks."""

    _fenced_for: Claim | None = None

    def take_over_steps(self, claim: Claim) -> list[Action]:
        return [ReadToEnd()] if claim.attempt else []

    def _publish_head(self, now_ms: float) -> Action | None:
        claim = self.decisions.owner(self.head)
        overdue = now_ms - self._waiting_since > self._bound.ms
        if claim is not None and claim.owner != self.me and overdue and self._fenced_for != claim:
            self._fenced_for = claim
            self._preparing = (claim, [Fence((claim.owner,))])
            return self._begin(self._preparing[1][0])
        return super()._publish_head(now_ms)


class RenewsBeforeItReclaims(Publication):
    """Renews its producer when it takes its own epoch back: a step that may be given up together with the reading."""

    def take_over_steps(self, claim: Claim) -> list[Action]:
        mine = any(c.owner == self.me for c in self.decisions.claims(claim.epoch)[: claim.attempt])
        steps = super().take_over_steps(claim)
        return [RenewProducer(), *steps] if mine and steps else steps


class RenewsWithoutReading(Publication):
    """Publishes again with a renewed producer, without looking whether somebody took over meanwhile."""

    def renewal_steps(self) -> list[Action]:
        return [RenewProducer()]


class GoesOnWithItsProducer(Publication):
    """Publishes again with the same producer, although a commit of it may still arrive."""

    def renewal_steps(self) -> list[Action]:
        return [ReadToEnd()]


class PublishesAhead(Publication):
    """Does not wait for the marker of the epoch before."""

    def predecessor_seen(self, claim: Claim) -> bool:
        return claim.epoch >= self.head

    def candidates(self) -> tuple[int, ...]:
        return (self.head, self.head + 1)


class NeverConcedes(Publication):
    """Publishes what it once claimed, whoever claimed it since."""

    def _publish_head(self, now_ms: float) -> Action | None:
        own = [claim for claim in self.decisions.claims(self.head) if claim.owner == self.me]
        if own and self.head in self._computed and self.head != self._committed:
            return self._prepare(own[-1])
        return super()._publish_head(now_ms)


class TrustsItsProposal(Publication):
    """Takes its claim for accepted as soon as it is sent."""

    def _publish_head(self, now_ms: float) -> Action | None:
        attempt, _ = self._proposed.get(self.head, (-1, 0.0))
        unread = self.head in self._computed and not self.decisions.is_claimed(self.head)
        if attempt >= 0 and unread and self.head != self._committed:
            return self._prepare(Claim(self.head, attempt, self.me))
        return super()._publish_head(now_ms)


class ForgetsThatItCommitted(Publication):
    """Publishes again before it has read its own marker."""

    def published(self, epoch: int, outcome: Outcome) -> None:
        super().published(epoch, outcome)
        self._committed = None


class ForgetsThatRowsMayBeOut(Publication):
    """At most once: publishes rows again after an attempt whose outcome is unknown."""

    def published(self, epoch: int, outcome: Outcome) -> None:
        super().published(epoch, outcome)
        self._unsure = None


@dataclass(frozen=True)
class Guard:
    """A guard, and the protocol without it: a deviation, or another rule in place of one of `decisions`."""

    name: str
    deviation: Deviation = field(default_factory=Deviation)
    rule: str = ""
    instead: Callable[..., bool] | None = None
    delivery: Delivery = Delivery.EXACTLY_ONCE
    near: int = 0  # the seed at which the search begins: for what is rare, not long before one that is known to show it

    @contextmanager
    def removed(self) -> Iterator[Deviation]:
        """As long as this is entered the guard is gone."""
        kept = getattr(decisions, self.rule) if self.rule else None
        try:
            if self.rule:
                setattr(decisions, self.rule, self.instead)
            yield self.deviation
        finally:
            if self.rule:
                setattr(decisions, self.rule, kept)

    def missed_after(self, most: int) -> tuple[int, Failed | None]:
        """How many schedules it takes to find that the guard is missing, and what is found."""
        with self.removed() as deviation:
            return first_failure(range(self.near, self.near + most), deviation, self.delivery)


def _publication(name: str, publication: type[Publication]) -> Guard:
    return Guard(name, Deviation(publication=publication))


GUARDS = (
    Guard("no input's position goes back", rule="never_goes_back", instead=lambda *_: True),
    Guard("no epoch is cut twice", rule="is_next_epoch", instead=lambda epoch, last: last <= epoch <= last + 1),
    Guard("no epoch is left out", rule="is_next_epoch", instead=lambda epoch, last: epoch > last),
    Guard("an attempt has one owner", rule="is_next_attempt", instead=lambda *_: True),
    Guard("the first answer counts", rule="is_unanswered", instead=lambda *_: True),
    Guard("only the log answers", Deviation(trusts_its_answer=True)),
    _publication("only the log makes an owner", TrustsItsProposal),
    _publication("an owner concedes to the next", NeverConcedes),
    _publication("the predecessor's marker is awaited", PublishesAhead),
    _publication("own marker is awaited", ForgetsThatItCommitted),
    _publication("who takes over fences", NeverFences),
    _publication("who takes over fences all earlier owners", FencesOnlyTheLastOwner),
    _publication("who takes over claims before it fences", FencesBeforeItClaims),
    _publication("who takes over fences before it reads", ReadsBeforeItFences),
    _publication("who takes over reads to the end", TakesOverWithoutReading),
    _publication("who renews reads to the end", RenewsWithoutReading),
    Guard(
        "who renews reads to the end although the head moved on",
        Deviation(publication=RenewsBeforeItReclaims),
        near=10_650,
    ),
    _publication("who does not know the outcome renews", GoesOnWithItsProducer),
    Guard(
        "at most once: rows that may be out are given up",
        Deviation(publication=ForgetsThatRowsMayBeOut),
        delivery=Delivery.AT_MOST_ONCE,
    ),
    Guard("reading to the end reads the ordering log", Deviation(reads_only="commits")),
    Guard("reading to the end reads the commits topic", Deviation(reads_only="log")),
    Guard("a fence waits for the transaction that it met", Deviation(fences_hastily=True)),
    Guard("the producer is initialised before the first claim", Deviation(initialises_late=True)),
    Guard("an incarnation has an id of its own", Deviation(reuses_ids=True)),
)
