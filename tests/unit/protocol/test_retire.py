"""An incarnation that is about to go claims nothing any more, and publishes what it owns: nobody has to take over."""

from __future__ import annotations

from tandem.protocol.actions import Outcome, ProposeClaim, Publish
from tandem.protocol.decisions import Decisions
from tandem.protocol.publication import ANYBODY, Publication
from tandem.protocol.publication_rules import Computation, Delivery
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Claim, Proposal
from unit.protocol.builders import config, cut, marker

LONG_MS = 10_000.0


class Leaver:
    """Incarnation `a`, with two epochs cut."""

    def __init__(self) -> None:
        self.publication = Publication("a", Decisions(), 0, Delivery.EXACTLY_ONCE, AdaptiveTimeout(10.0, 100.0))
        self._offset = 0
        self.reads(config(0), cut(0, 1), cut(1, 2))

    def reads(self, *proposals: Proposal) -> None:
        for proposal in proposals:
            self.publication.on_proposal(proposal, self._offset, 0.0)
            self._offset += 1


def test_what_it_owns_is_still_published_and_then_nothing_is_owed() -> None:
    leaver = Leaver()
    leaver.publication.on_computed(0, Computation("d"))
    assert leaver.publication.next_action(0.0) == ProposeClaim(Claim(0, 0, "a"))
    leaver.publication.retire()
    assert leaver.publication.owes, "its claim may be in the log already"

    leaver.reads(Claim(0, 0, "a"))
    assert leaver.publication.owes
    publish = leaver.publication.next_action(0.0)
    assert isinstance(publish, Publish)
    leaver.publication.done(publish, Outcome.COMMITTED)
    assert leaver.publication.owes, "its marker was not read yet"

    leaver.publication.on_marker(marker(0), 0.0)
    assert not leaver.publication.owes


def test_nothing_is_claimed_any_more() -> None:
    leaver = Leaver()
    leaver.publication.retire()
    leaver.publication.on_computed(0, Computation("d"))

    assert leaver.publication.next_claim(LONG_MS) is None
    assert leaver.publication.next_action(LONG_MS) is None
    assert not leaver.publication.owes


def test_nothing_is_taken_over_any_more() -> None:
    leaver = Leaver()
    leaver.publication.on_computed(0, Computation("d"))
    leaver.reads(Claim(0, 0, "b"))
    leaver.publication.retire()

    assert leaver.publication.next_action(LONG_MS) is None


def test_an_epoch_that_another_one_won_is_not_owed() -> None:
    leaver = Leaver()
    leaver.publication.on_computed(0, Computation("d"))
    assert leaver.publication.next_action(0.0) == ProposeClaim(Claim(0, 0, "a"))
    leaver.publication.retire()
    leaver.reads(Claim(0, 0, "b"), Claim(0, 0, "a"))

    assert not leaver.publication.owes


def test_who_has_a_successor_claims_on_until_that_has_claimed() -> None:
    leaver = Leaver()
    leaver.publication.retire_after("b")
    leaver.publication.on_computed(0, Computation("d"))
    assert leaver.publication.next_action(0.0) == ProposeClaim(Claim(0, 0, "a"))
    leaver.reads(Claim(0, 0, "a"), Claim(0, 0, "b"))
    assert not leaver.publication.retired, "its claim came second"

    leaver.publication.on_computed(1, Computation("d"))
    leaver.reads(Claim(1, 0, "c"))
    assert not leaver.publication.retired, "another one's"
    leaver.reads(cut(2, 3), Claim(2, 0, "b"))
    assert leaver.publication.retired
    assert leaver.publication.owes, "epoch 0"


def test_who_leaves_it_to_anybody_claims_on_until_another_one_has_claimed() -> None:
    leaver = Leaver()
    leaver.publication.retire_after(ANYBODY)
    leaver.publication.on_computed(0, Computation("d"))
    assert leaver.publication.next_action(0.0) == ProposeClaim(Claim(0, 0, "a"))
    leaver.reads(Claim(0, 0, "a"), Claim(0, 0, "b"))
    assert not leaver.publication.retired, "its own was first"

    leaver.reads(Claim(1, 0, "c"))
    assert leaver.publication.retired
