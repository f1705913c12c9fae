"""What a publication waits for, in words."""

from __future__ import annotations

import pytest

from tandem.protocol.actions import Action, Fence, ProposeClaim, Publish, ReadToEnd, RenewProducer
from tandem.protocol.decisions import Decisions
from tandem.protocol.publication import Publication
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Claim, Config, Cut, Offsets, Proposal
from tandem.replica.awaited import awaited

CONFIG = Config(0, "c0ffee", Offsets(), "a")
CUT = Cut(0, Offsets(), 0, 0, "orderer-0")
MINE, OTHERS = Claim(0, 0, "me"), Claim(0, 0, "other")

CASES: list[tuple[list[Proposal], Action | None, str]] = [
    ([CONFIG, CUT], None, "a claim of it in log"),
    ([CONFIG, CUT], ProposeClaim(MINE), "a claim of it in log"),
    ([CONFIG, CUT, OTHERS], None, "its marker in commits, by other"),
    ([CONFIG, CUT, MINE], Publish(0, 0, False), "its marker in commits, by me"),
    ([CONFIG, CUT, MINE], RenewProducer(), "a new producer, which Kafka initialises"),
    ([CONFIG, CUT, MINE], ReadToEnd(), "the ends of log and commits"),
    ([CONFIG, CUT, OTHERS], Fence(("other",)), "the fencing of other, which did not publish it"),
]


@pytest.mark.parametrize(("log", "action", "words"), CASES)
def test_each_step_has_words(log: list[Proposal], action: Action | None, words: str) -> None:
    publication = Publication("me", Decisions(), 0, Delivery.EXACTLY_ONCE, AdaptiveTimeout(20.0, 120.0))
    for offset, proposal in enumerate(log):
        publication.on_proposal(proposal, offset, 0.0)

    assert awaited(action, publication, "log", "commits") == words
