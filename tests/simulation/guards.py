"""The protocol with one of its guards removed: each must be found out by the simulation, or it guards nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from simulation.campaign import Failed, first_failure
from simulation.schedule import Schedule
from simulation.world import Deviation
from tandem.core.asking import Asking
from tandem.protocol import decisions
from tandem.protocol.actions import Action, Fence, Idle, ReadToEnd, RenewProducer, Step, TakingOver
from tandem.protocol.decisions import Decisions
from tandem.protocol.publication import Publication
from tandem.protocol.publication_rules import Delivery
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

    _fenced_for: Claim | None = None

    def take_over_steps(self, claim: Claim) -> tuple[Step, ...]:
        return (ReadToEnd(),) if claim.attempt else ()

    def next_action(self, now_ms: float) -> Action | None:
        claim = self.decisions.owner(self.head)
        could = isinstance(self.phase, Idle) and self.head in self._computed and claim != self._fenced_for
        if could and claim is not None and claim.owner != self.me and self.is_overdue(claim, now_ms):
            self._fenced_for = claim
            return self.begin(TakingOver(claim, (Fence((claim.owner,)),)))
        return super().next_action(now_ms)


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

    def predecessor_seen(self, claim: Claim) -> bool:
        return claim.epoch >= self.head

    def candidates(self) -> tuple[int, ...]:
        return (self.head, self.head + 1)


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
    """Publishes again before it has read its own marker."""

    def is_on_its_way(self, epoch: int) -> bool:  # noqa: ARG002
        return False


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

    def to_claim(self) -> tuple[int, ...]:
        return (*super().to_claim(), self.decisions.last_epoch + 1)


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


@dataclass(frozen=True)
class Guard:
    """A guard, and the protocol without it: a deviation, or another rule in place of one of the product's."""

    name: str
    deviation: Deviation = field(default_factory=Deviation)
    rules: tuple[tuple[ModuleType, str, Callable[..., Any]], ...] = ()  # module, name, what stands there instead
    unsafe: bool = True  # without it the output is wrong; else it does not come, or the job is not whole again
    schedule: Callable[[int], Schedule] = Schedule.plain
    where: Callable[[Schedule], bool] = lambda schedule: schedule.delivery is Delivery.EXACTLY_ONCE
    near: int = 0  # the seed at which the search begins: for what is rare, not long before one that is known to show it

    @contextmanager
    def removed(self) -> Iterator[Deviation]:
        """As long as this is entered the guard is gone."""
        kept = [(module, name, getattr(module, name)) for module, name, _ in self.rules]
        try:
            for module, name, instead in self.rules:
                setattr(module, name, instead)
            yield self.deviation
        finally:
            for module, name, rule in kept:
                setattr(module, name, rule)

    def missed_after(self, most: int) -> tuple[int, Failed | None]:
        """How many schedules it takes to find that the guard is missing, and what is found."""
        schedules = filter(self.where, map(self.schedule, range(self.near, self.near + most)))
        with self.removed() as deviation:
            return first_failure(schedules, deviation, self.unsafe)


def _hasty(seed: int) -> Schedule:
    """The schedule of a seed with bounds so short that a take-over is often taken over."""
    return replace(Schedule.plain(seed), least_bound_ms=10.0, most_bound_ms=20.0)


def _publication(name: str, publication: type[Publication]) -> Guard:
    return Guard(name, Deviation(publication=publication))


GUARDS = (
    Guard("no input's position goes back", rules=((decisions, "never_goes_back", lambda *_: True),)),
    Guard(
        "no epoch is cut twice", rules=((decisions, "is_next_epoch", lambda epoch, last: last <= epoch <= last + 1),)
    ),
    Guard("no epoch is left out", rules=((decisions, "is_next_epoch", lambda epoch, last: epoch > last),)),
    Guard("an attempt has one owner", rules=((decisions, "is_next_attempt", lambda *_: True),)),
    Guard(
        "a generation ends where the next one's config stands",
        Deviation(publication=ClaimsForOthers),
        rules=((decisions, "is_of_generation", lambda *_: True),),
        schedule=Schedule.upgrading,
    ),
    Guard(
        "a generation publishes what a dead one left",
        rules=((decisions, "is_of_generation", lambda generation, epochs, _: generation == epochs),),
        unsafe=False,
        schedule=Schedule.replacing,
    ),
    Guard(
        "owners of a dead generation are fenced",
        Deviation(publication=FencesOnlyItsGeneration),
        schedule=Schedule.replacing,
    ),
    Guard(
        "who reads a marker of a later generation stops",
        Deviation(publication=NeverSuperseded),
        schedule=Schedule.upgrading,
    ),
    Guard(
        "a newcomer knows the config that was in force",
        Deviation(resumes_with_config_at=0),
        schedule=Schedule.upgrading,
    ),
    Guard(
        "a generation's state comes from its savepoint",
        Deviation(restores_any_lineage=True),
        schedule=Schedule.upgrading,
    ),
    Guard(
        "the first config of a generation counts",
        rules=((decisions, "is_next_generation", lambda *_: True),),
        schedule=Schedule.differing,
    ),
    Guard(
        "only a cut epoch is claimed",
        Deviation(publication=ClaimsAhead),
        rules=((decisions, "is_cut", lambda *_: True),),
        schedule=Schedule.upgrading,
    ),
    Guard("who computed other rows stops", Deviation(publication=NeverCompares), schedule=Schedule.differing),
    Guard("an answer's parts come in order", rules=((decisions, "is_next_part", lambda *_: True),)),
    Guard("the first answer counts", rules=((decisions, "is_unanswered", lambda *_: True),)),
    Guard("only the log answers", Deviation(asking=TrustsItsAnswer)),
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
        schedule=_hasty,
        near=9_900,
    ),
    _publication("who does not know the outcome renews", GoesOnWithItsProducer),
    Guard(
        "at most once: rows that may be out are given up",
        Deviation(publication=ForgetsThatRowsMayBeOut),
        where=lambda schedule: schedule.delivery is Delivery.AT_MOST_ONCE,
    ),
    Guard(
        "at most once: the marker comes after the rows",
        Deviation(marks_first=True),
        where=lambda schedule: schedule.delivery is Delivery.AT_MOST_ONCE,
    ),
    Guard(
        "at least once: the marker comes after the rows",
        Deviation(marks_first=True),
        where=lambda schedule: schedule.delivery is Delivery.AT_LEAST_ONCE,
    ),
    Guard("reading to the end reads the ordering log", Deviation(reads_only="commits")),
    Guard("reading to the end reads the commits topic", Deviation(reads_only="log")),
    Guard("a fence waits for the transaction that it met", Deviation(fences_hastily=True)),
    Guard("the producer is initialised before the first claim", Deviation(initialises_late=True)),
    Guard(
        "an incarnation has an id of its own",
        Deviation(reuses_ids=True),
        where=lambda schedule: schedule.delivery is Delivery.EXACTLY_ONCE and not schedule.asks,
    ),
    Guard(
        "an incarnation answers under a name of its own",
        Deviation(reuses_ids=True),
        where=lambda schedule: schedule.delivery is Delivery.EXACTLY_ONCE and schedule.asks,
    ),
)
