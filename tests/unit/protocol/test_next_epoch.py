"""When the next epoch is claimed and published: behind the marker of the one before, also by who has committed that."""

import pytest

from tandem.protocol.actions import Outcome, ProposeClaim, Publish, RenewProducer
from tandem.protocol.publication import ANYBODY
from tandem.protocol.publication_rules import LEAVE_MS, Computation
from tandem.protocol.values import Claim
from unit.protocol.builders import marker
from unit.protocol.publishing import MOST_MS, Replica


@pytest.fixture
def replica() -> Replica:
    return Replica()


def computes(replica: Replica, epoch: int) -> None:
    replica.publication.on_computed(epoch, Computation("d", at_ms=replica.now))


def test_an_owner_reads_its_own_marker_before_it_publishes_on(replica: Replica) -> None:
    replica.owns(0)
    replica.owns(1)
    assert replica.next() == Publish(0, 0)
    replica.done(Outcome.COMMITTED)
    assert replica.next() is None
    replica.publication.on_marker(marker(0), 5.0)
    assert replica.next() == Publish(1, 0)


def test_the_marker_of_another_is_read_first(replica: Replica) -> None:
    replica.computes(0)
    replica.reads(Claim(0, 0, "b"))
    replica.owns(1)
    assert replica.next() is None
    replica.publication.on_marker(marker(0, "b"), 5.0)
    assert replica.next() == Publish(1, 0)


def test_an_epoch_of_unknown_outcome_is_not_gone_on_behind(replica: Replica) -> None:
    replica.owns(0)
    replica.owns(1)
    assert replica.next() == Publish(0, 0)
    replica.done(Outcome.UNKNOWN)
    assert replica.next() == RenewProducer()


def test_what_another_owns_is_not_taken_over_before_its_turn(replica: Replica) -> None:
    replica.owns(0)
    assert replica.next() == Publish(0, 0)
    replica.done(Outcome.COMMITTED)
    replica.computes(1)
    replica.reads(Claim(1, 0, "b"))
    replica.now += 4 * MOST_MS + 1
    assert replica.next() is None


def test_all_claim_at_once_no_matter_who_claimed_last(replica: Replica) -> None:
    replica.reads(Claim(0, 0, "b"))
    computes(replica, 1)
    assert replica.next() == ProposeClaim(Claim(1, 0, "a"))


def test_a_silent_one_is_not_waited_for(replica: Replica) -> None:
    replica.computes(0)
    replica.reads(Claim(0, 0, "b"))
    replica.now = 4 * MOST_MS + 1
    assert replica.next() == ProposeClaim(Claim(0, 1, "a"))
    computes(replica, 1)
    assert replica.next() == ProposeClaim(Claim(1, 0, "a"))


def test_who_leaves_waits_for_a_moment(replica: Replica) -> None:
    replica.owns(0)
    replica.publication.retire_after(ANYBODY)
    computes(replica, 1)
    replica.now = LEAVE_MS - 1
    assert replica.next() == Publish(0, 0)
    assert replica.publication.next_claim(replica.now) is None
    assert replica.publication.next_claim(LEAVE_MS) == ProposeClaim(Claim(1, 0, "a"))
