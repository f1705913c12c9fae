"""One generation of a job follows another at one exact epoch, and nothing is published twice or never."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.protocol.actions import Action, ProposeClaim, Publish
from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.publication import DivergedError, Publication, SupersededError
from tandem.protocol.publication_rules import Computation, Delivery
from tandem.protocol.succession import Succession, SuccessionError
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Claim, Marker, Proposal
from unit.protocol.builders import config, cut, decided, marker, verdicts

A, R, E, S = Verdict.ACCEPTED, Verdict.REPEATED, Verdict.TOO_EARLY, Verdict.SUPERSEDED
MOST_MS = 100.0
NEXT = config(generation=1)


class Replica:
    """A replica of `generation` at time `now`; three epochs are cut; the digest of what it computes is `d`."""

    def __init__(self, generation: int) -> None:
        bound = AdaptiveTimeout(10.0, MOST_MS)
        self.generation = generation
        self.publication = Publication("me", Decisions(), 0, Delivery.EXACTLY_ONCE, bound, generation)
        self.now = 0.0
        self._offset = 0
        self.reads(config(0), cut(0, 1), cut(1, 2), cut(2, 3))

    def reads(self, *proposals: Proposal) -> None:
        for proposal in proposals:
            self.publication.on_proposal(proposal, self._offset, self.now)
            self._offset += 1

    def sees(self, *markers: Marker) -> None:
        for one in markers:
            self.publication.on_marker(one, self.now)

    def computes(self, *epochs: int) -> None:
        for epoch in epochs:
            self.publication.on_computed(epoch, Computation("d"))

    def next(self) -> Action | None:
        return self.publication.next_action(self.now)

    def claims(self, epoch: int, attempt: int = 0) -> ProposeClaim:
        return ProposeClaim(Claim(epoch, attempt, "me", self.generation))


def of_generation(epoch: int, generation: int, digest: str = "d") -> Marker:
    return replace(marker(epoch, "other", digest=digest), generation=generation)


def test_an_epoch_is_of_the_generation_that_it_was_cut_in() -> None:
    log = decided(NEXT, cut(2, 3), config(generation=2), cut(3, 4), epochs=2)
    assert [log.generation_of(epoch) for epoch in range(5)] == [0, 0, 1, 2, 2]


def test_an_epoch_names_the_config_in_force_where_it_was_cut() -> None:
    log = decided(NEXT, cut(1, 2), epochs=1)
    found = [log.epoch_range(epoch) for epoch in (0, 1)]
    assert [epoch.config_offset for epoch in found if epoch] == [0, 2]


def test_an_earlier_generation_does_not_claim_what_is_cut_after_its_end() -> None:
    log = decided(NEXT, cut(1, 2), epochs=1)
    assert verdicts(log, Claim(1, 0, "old", 0), Claim(1, 0, "new", 1), Claim(1, 1, "old", 0)) == [S, A, S]


def test_an_earlier_generation_publishes_what_was_cut_before_its_end() -> None:
    log = decided(NEXT, epochs=1)
    assert verdicts(log, Claim(0, 0, "old", 0)) == [A]


def test_a_later_generation_may_publish_what_the_one_before_left_but_not_before_its_config() -> None:
    log = decided(epochs=2)
    assert verdicts(log, Claim(0, 0, "new", 1), NEXT, Claim(0, 0, "new", 1), Claim(1, 0, "new", 2)) == [E, A, A, E]


def test_of_two_configs_of_one_generation_the_first_counts() -> None:
    log = decided()
    assert verdicts(log, NEXT, replace(NEXT, digest="other")) == [A, R]
    assert log.config == NEXT


def test_a_candidate_computes_and_drops_but_never_claims_before_its_config_is_accepted() -> None:
    replica = Replica(generation=1)
    replica.computes(0, 1)
    replica.now = 10 * MOST_MS
    assert replica.next() is None
    replica.sees(of_generation(0, 0))
    assert replica.next() is None


def test_what_another_generation_published_is_not_compared() -> None:
    replica = Replica(generation=1)
    replica.computes(0)
    replica.sees(of_generation(0, 0, digest="rows of the old code"))
    replica.reads(NEXT)
    replica.computes(1)
    with pytest.raises(DivergedError):
        replica.sees(of_generation(1, 1, digest="rows of other code"))


def test_a_new_generation_begins_with_the_first_epoch_after_its_config() -> None:
    replica = Replica(generation=1)
    replica.reads(NEXT, cut(3, 4))
    replica.sees(of_generation(0, 0), of_generation(1, 0))
    replica.computes(2, 3)
    assert replica.next() == replica.claims(3)
    replica.reads(Claim(3, 0, "me", 1))
    assert replica.next() is None
    replica.sees(of_generation(2, 0))
    assert replica.next() == Publish(3, 0)


def test_what_the_old_generation_leaves_is_taken_over_after_the_longest_bound() -> None:
    replica = Replica(generation=1)
    replica.reads(NEXT)
    replica.sees(of_generation(0, 0))
    replica.computes(1, 2)
    replica.now += MOST_MS
    assert replica.next() is None
    replica.now += 1
    assert replica.next() == replica.claims(1)
    replica.reads(Claim(1, 0, "me", 1))
    assert replica.next() == Publish(1, 0)


def test_once_a_new_generation_has_published_the_rest_is_its_own_at_once() -> None:
    replica = Replica(generation=1)
    replica.reads(NEXT)
    replica.computes(0, 1)
    replica.sees(of_generation(0, 1))
    assert replica.next() == replica.claims(1)


def test_who_reads_a_marker_of_a_later_generation_stops() -> None:
    replica = Replica(generation=0)
    replica.reads(NEXT)
    with pytest.raises(SupersededError, match="generation 1 publishes from epoch 0 on"):
        replica.sees(of_generation(0, 1))


def test_an_old_replica_claims_nothing_that_is_cut_after_its_end() -> None:
    replica = Replica(generation=0)
    replica.reads(NEXT, cut(3, 4))
    replica.sees(*(of_generation(epoch, 0) for epoch in range(3)))
    replica.computes(3)
    replica.now = 10 * MOST_MS
    assert replica.next() is None


def test_a_candidate_proposes_its_config_when_it_is_at_the_head_and_again_if_it_does_not_show() -> None:
    succession, log = Succession(NEXT, again_ms=50), decided(epochs=4)
    assert succession.next_proposal(log, None, 0) is None
    assert succession.next_proposal(log, 1, 0) is None
    assert succession.next_proposal(log, 2, 0) == NEXT
    assert succession.next_proposal(log, 3, 49) is None
    assert succession.next_proposal(log, 3, 50) == NEXT
    log.apply(NEXT)
    assert succession.next_proposal(log, 3, 200) is None
    assert succession.is_over(log)


def test_a_candidate_gives_up_when_another_one_was_first() -> None:
    log = decided(replace(NEXT, savepoint="another"))
    with pytest.raises(SuccessionError, match="generation 1 of the job has begun with another config, by replica-0"):
        Succession(NEXT).is_over(log)


def test_state_is_exchanged_within_a_lineage_only() -> None:
    again = replace(NEXT, generation=3)
    other = replace(NEXT, base=7)
    assert len({config().lineage, NEXT.lineage, again.lineage, other.lineage}) == 4


def test_a_job_of_the_same_name_and_code_on_other_topics_has_another_lineage() -> None:
    """On another cluster, say, or on one that was made again, while states of the first are still there."""
    here = replace(config(), topic_ids=(("in", "a"), ("commits", "b")))
    there = replace(config(), topic_ids=(("in", "c"), ("commits", "d")))

    assert here.lineage not in there.lineages
    assert here.lineage == replace(here, topic_ids=here.topic_ids[::-1]).lineage
    assert config().lineage in here.lineages, "a state that an earlier version wrote"
    assert here.lineage not in config().lineages
