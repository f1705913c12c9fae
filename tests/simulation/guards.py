"""The protocol with one of its guards removed: each must be found out by the simulation, or it guards nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from types import ModuleType
from typing import Any

from simulation.campaign import Failed, first_failure
from simulation.deviation import Deviation
from simulation.schedule import Failure, Schedule
from simulation.weakened import (
    ClaimsAhead,
    ClaimsForOthers,
    FencesBeforeItClaims,
    FencesOnlyItsGeneration,
    FencesOnlyTheLastOwner,
    ForgetsThatItCommitted,
    ForgetsThatRowsMayBeOut,
    GoesOnWithItsProducer,
    NeverCompares,
    NeverConcedes,
    NeverFences,
    NeverSuperseded,
    PublishesAhead,
    ReadsBeforeItFences,
    RenewsBeforeItReclaims,
    RenewsWithoutReading,
    TakesOverWithoutReading,
    TrustsAnEarlierFence,
    TrustsItsAnswer,
    TrustsItsProposal,
)
from tandem.protocol import decisions
from tandem.protocol.publication import Publication
from tandem.protocol.publication_rules import Delivery


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
    """The schedule of a seed with many small epochs, late readers, and bounds so short that a take-over is often taken over.

    An owner stops inside its transaction, and so does who fences it: the first one takes the epoch back, and the other one
    goes on meanwhile.
    """
    rng, plain = Random(f"hasty {seed}"), Schedule.plain(seed)
    owner = Failure("pause", rng.uniform(20, 150), step=rng.choice(("rows sent", "marker sent")), nth=rng.randint(1, 5))
    steps = ("fenced", "read to end", "rows sent", "marker sent")
    successor = Failure("pause", rng.uniform(10, 120), step=rng.choice(steps), nth=rng.choice((1, 2, 3, 5)))
    back = Failure("pause", rng.uniform(10, 100), step=rng.choice(("reclaimed", "renewed", "took over")), nth=1)
    return replace(
        plain,
        alone=False,
        failures=(owner, successor, back)[: rng.choice((2, 3))],
        max_records=2,
        compute_ms=tuple(rng.uniform(2, 8) for _ in plain.compute_ms),
        short_glances=0.6,
        slow_messages=rng.choice((0.0, 0.08)),
        unknown=0.0,
        lost=0.0,
        least_bound_ms=10.0,
        most_bound_ms=20.0,
    )


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
    Guard(
        "a state counts for others once it is compared",
        Deviation(lends_uncompared=True),
        schedule=Schedule.differing,
    ),
    Guard("an answer's parts come in order", rules=((decisions, "is_next_part", lambda *_: True),)),
    Guard("the first answer counts", rules=((decisions, "is_unanswered", lambda *_: True),)),
    Guard("only the log answers", Deviation(asking=TrustsItsAnswer)),
    _publication("only the log makes an owner", TrustsItsProposal),
    _publication("an owner concedes to the next", NeverConcedes),
    _publication("the predecessor's marker is awaited", PublishesAhead),
    _publication("own marker is awaited", ForgetsThatItCommitted),
    _publication("who takes over fences", NeverFences),
    Guard("who takes over fences all earlier owners", Deviation(publication=FencesOnlyTheLastOwner), near=8_650),
    _publication("who takes over claims before it fences", FencesBeforeItClaims),
    _publication("a fence is enough for claims that were read before it", TrustsAnEarlierFence),
    _publication("who takes over fences before it reads", ReadsBeforeItFences),
    _publication("who takes over reads to the end", TakesOverWithoutReading),
    _publication("who renews reads to the end", RenewsWithoutReading),
    Guard(
        "who renews reads to the end although the head moved on",
        Deviation(publication=RenewsBeforeItReclaims),
        schedule=_hasty,
        near=1_450,
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
        near=5_700,
    ),
    Guard(
        "an incarnation answers under a name of its own",
        Deviation(reuses_ids=True),
        where=lambda schedule: schedule.delivery is Delivery.EXACTLY_ONCE and schedule.asks,
        near=4_250,
    ),
)
