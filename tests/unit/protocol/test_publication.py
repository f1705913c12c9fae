"""Claim, then publish; or take over: what one replica does, step by step."""

from __future__ import annotations

import pytest

from tandem.protocol.actions import Fence, Outcome, ProposeClaim, Publish, ReadToEnd, Renewing, RenewProducer
from tandem.protocol.publication import MissingMarkerError, ProtocolMisuseError
from tandem.protocol.publication_rules import Computation, Delivery
from tandem.protocol.values import Claim
from unit.protocol.builders import marker
from unit.protocol.publishing import MOST_MS, Replica


@pytest.fixture
def replica() -> Replica:
    return Replica()


def test_the_first_to_compute_claims_and_publishes(replica: Replica) -> None:
    replica.owns(0)
    assert replica.next() == Publish(0, 0)


def test_nothing_is_published_before_the_log_shows_the_claim(replica: Replica) -> None:
    replica.computes(0)
    assert isinstance(replica.next(), ProposeClaim)
    assert replica.next() is None


def test_a_claim_that_does_not_show_is_proposed_again_after_a_while(replica: Replica) -> None:
    replica.computes(0)
    first = replica.next()
    replica.now = MOST_MS - 1
    assert replica.next() is None
    replica.now = MOST_MS
    assert replica.next() == first


def test_who_was_not_first_waits_for_the_owners_marker(replica: Replica) -> None:
    replica.computes(0)
    replica.reads(Claim(0, 0, "b"))
    assert replica.next() is None
    assert replica.publication.on_marker(marker(0, "b"), 5.0)
    assert replica.publication.head == 1


def test_an_epoch_can_be_claimed_while_another_is_being_published(replica: Replica) -> None:
    replica.owns(0)
    assert replica.next() == Publish(0, 0)
    replica.computes(1)
    assert replica.next() is None
    assert replica.publication.next_claim(0.0) == ProposeClaim(Claim(1, 0, "a"))


def test_a_committed_epoch_is_not_published_again_before_its_marker_is_read(replica: Replica) -> None:
    replica.owns(0)
    assert replica.next() == Publish(0, 0)
    replica.done(Outcome.COMMITTED)
    replica.now = 1e9
    assert replica.next() is None


def test_a_silent_owner_is_taken_over_claim_then_fence_then_read_then_publish(replica: Replica) -> None:
    replica.takes_over_from("b")
    assert replica.next() == Fence(("b",))
    replica.done()
    assert replica.next() == ReadToEnd()
    replica.done()
    assert replica.next() == Publish(0, 1)


def test_nobody_is_taken_over_within_the_bound(replica: Replica) -> None:
    replica.computes(0)
    replica.reads(Claim(0, 0, "b"))
    replica.now += MOST_MS
    assert replica.next() is None


def test_who_took_over_gets_twice_the_time_of_the_one_before(replica: Replica) -> None:
    replica.computes(0)
    for attempt, patience in enumerate((MOST_MS, 2 * MOST_MS, 4 * MOST_MS, 8 * MOST_MS)):
        replica.reads(Claim(0, attempt, "b"))
        replica.now += patience
        assert replica.next() is None
        replica.now += 1
        assert replica.next() == ProposeClaim(Claim(0, attempt + 1, "a"))


def test_every_earlier_owner_is_fenced(replica: Replica) -> None:
    replica.takes_over_from("b", "c", "b")
    assert replica.next() == Fence(("b", "c"))


def test_who_reclaims_its_own_epoch_fences_the_others(replica: Replica) -> None:
    replica.takes_over_from("a", "b")
    assert replica.next() == Fence(("b",))


def test_nothing_is_published_if_the_marker_was_there_after_all(replica: Replica) -> None:
    replica.takes_over_from("b")
    replica.next()
    replica.done()
    replica.next()
    replica.publication.on_marker(marker(0, "b"), replica.now)
    replica.done()
    assert replica.next() is None


def test_who_is_taken_over_while_it_takes_over_concedes(replica: Replica) -> None:
    replica.takes_over_from("b")
    replica.next()
    replica.done()
    replica.next()
    replica.reads(Claim(0, 2, "c"))
    replica.done()
    assert replica.next() is None


@pytest.mark.parametrize("outcome", [Outcome.FENCED, Outcome.UNKNOWN])
def test_after_a_failed_transaction_the_producer_is_renewed_and_both_topics_are_read(
    replica: Replica, outcome: Outcome
) -> None:
    replica.owns(0)
    replica.next()
    replica.done(outcome)
    assert replica.next() == RenewProducer()
    assert replica.next() is None
    replica.done()
    assert replica.next() == ReadToEnd()
    replica.done()
    assert replica.next() == Publish(0, 0)


def test_a_fenced_owner_concedes_when_it_reads_who_fenced_it(replica: Replica) -> None:
    replica.owns(0)
    replica.next()
    replica.done(Outcome.FENCED)
    replica.next()
    replica.done()
    replica.next()
    replica.reads(Claim(0, 1, "b"))
    replica.done()
    assert replica.next() is None


def test_rows_that_come_after_the_marker_are_dropped(replica: Replica) -> None:
    replica.publication.on_marker(marker(0, "b"), 0.0)
    assert not replica.publication.on_computed(0, Computation("d"))
    assert replica.next() is None


def test_a_marker_that_was_read_is_no_news(replica: Replica) -> None:
    assert replica.publication.on_marker(marker(0, "b"), 0.0)
    assert not replica.publication.on_marker(marker(0, "b"), 0.0)


def test_a_missing_marker_is_an_error(replica: Replica) -> None:
    with pytest.raises(MissingMarkerError, match="expected the marker of epoch 0, found that of 1"):
        replica.publication.on_marker(marker(1), 0.0)


def test_at_least_once_takes_over_without_fencing() -> None:
    replica = Replica(Delivery.AT_LEAST_ONCE)
    replica.takes_over_from("b")
    assert replica.next() == Publish(0, 1)


def test_at_most_once_gives_the_rows_of_a_silent_owner_up() -> None:
    replica = Replica(Delivery.AT_MOST_ONCE)
    replica.takes_over_from("b")
    assert replica.next() == Publish(0, 1, skipped=True)


def test_at_most_once_gives_its_own_rows_up_when_it_does_not_know_whether_they_are_out() -> None:
    replica = Replica(Delivery.AT_MOST_ONCE)
    replica.owns(0)
    assert replica.next() == Publish(0, 0)
    replica.done(Outcome.UNKNOWN)
    replica.next()
    replica.done()
    replica.next()
    replica.done()
    assert replica.next() == Publish(0, 0, skipped=True)


def test_at_most_once_publishes_rows_of_which_none_was_sent() -> None:
    replica = Replica(Delivery.AT_MOST_ONCE)
    replica.owns(0)
    for _ in range(2):  # a table is away, before anything goes to Kafka
        assert replica.next() == Publish(0, 0)
        replica.done(Outcome.NOTHING_SENT)
        assert isinstance(replica.next(), RenewProducer)
        replica.done()
        assert isinstance(replica.next(), ReadToEnd)
        replica.done()
    assert replica.next() == Publish(0, 0)


def test_a_step_that_nobody_asked_for_is_refused(replica: Replica) -> None:
    replica.takes_over_from("b")
    with pytest.raises(ProtocolMisuseError, match="under way is None"):
        replica.done()
    assert replica.next() == Fence(("b",))
    for other in (ReadToEnd(), RenewProducer(), Publish(0, 1), Fence(("c",))):
        with pytest.raises(
            ProtocolMisuseError, match=r"was reported as done, but under way is Fence\(owners=\('b',\)\)"
        ):
            replica.publication.done(other)
    replica.done()
    with pytest.raises(ProtocolMisuseError, match="under way is None"):
        replica.done()
    assert replica.next() == ReadToEnd(), "what was refused changed nothing"


def test_only_a_publication_has_an_outcome(replica: Replica) -> None:
    replica.owns(0)
    assert replica.next() == Publish(0, 0)
    with pytest.raises(ProtocolMisuseError, match="with the outcome None"):
        replica.done()
    replica.done(Outcome.FENCED)
    assert replica.next() == RenewProducer()
    with pytest.raises(ProtocolMisuseError, match=r"with the outcome Outcome\.COMMITTED"):
        replica.done(Outcome.COMMITTED)


def test_a_state_that_breaks_a_rule_is_reported_by_its_name(replica: Replica) -> None:
    replica.owns(0)
    replica.next()
    replica.publication.phase = Renewing((RenewProducer(),))
    with pytest.raises(ProtocolMisuseError, match="the step under way is the phase's next one"):
        replica.publication.check()
