"""Who owns one epoch after the other publishes on without reading its markers; the others leave it the next claim."""

import pytest

from tandem.protocol.actions import Outcome, ProposeClaim, Publish, RenewProducer
from tandem.protocol.publication import ANYBODY
from tandem.protocol.publication_rules import GIVE_WAY_MS, LEAVE_MS, OPEN_TO_ALL, Computation
from tandem.protocol.values import Claim
from unit.protocol.builders import cut, marker
from unit.protocol.publishing import MOST_MS, Replica


@pytest.fixture
def replica() -> Replica:
    return Replica()


@pytest.fixture
def second(replica: Replica) -> Replica:
    """One that computes epoch 1 at 0 ms, behind another's epoch 0."""
    replica.reads(Claim(0, 0, "b"))
    computes(replica, 1)
    return replica


def computes(replica: Replica, epoch: int) -> None:
    replica.publication.on_computed(epoch, Computation("d", at_ms=replica.now))


def test_an_owner_publishes_on_without_reading_its_marker(replica: Replica) -> None:
    replica.owns(0)
    replica.owns(1)
    for epoch in (0, 1):
        assert replica.next() == Publish(epoch, 0)
        replica.done(Outcome.COMMITTED)
    assert replica.publication.head == 0
    assert replica.next() is None
    for epoch in (0, 1):
        assert replica.publication.on_marker(marker(epoch), 5.0)
    assert replica.publication.head == 2


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


def test_the_one_that_claimed_last_has_a_moment_for_the_next_epoch(second: Replica) -> None:
    second.now = GIVE_WAY_MS - 1
    assert second.next() is None
    second.now = GIVE_WAY_MS
    assert second.next() == ProposeClaim(Claim(1, 0, "a"))


def test_it_goes_on_at_once_once_it_has_claimed_itself(second: Replica) -> None:
    second.reads(Claim(1, 0, "a"))
    computes(second, 2)
    assert second.next() == ProposeClaim(Claim(2, 0, "a"))


def test_a_silent_one_is_not_waited_for(replica: Replica) -> None:
    replica.computes(0)
    replica.reads(Claim(0, 0, "b"))
    replica.now = 4 * MOST_MS + 1
    assert replica.next() == ProposeClaim(Claim(0, 1, "a"))
    computes(replica, 1)
    assert replica.next() == ProposeClaim(Claim(1, 0, "a"))


def test_who_leaves_waits_longer_than_its_successor(replica: Replica) -> None:
    replica.owns(0)
    replica.publication.retire_after(ANYBODY)
    computes(replica, 1)
    replica.now = LEAVE_MS - 1
    assert replica.next() == Publish(0, 0)
    assert replica.publication.next_claim(replica.now) is None
    assert replica.publication.next_claim(LEAVE_MS) == ProposeClaim(Claim(1, 0, "a"))
    assert LEAVE_MS > GIVE_WAY_MS


def test_now_and_then_an_epoch_is_everybodys(second: Replica) -> None:
    second.reads(*(cut(epoch, epoch + 1) for epoch in range(3, OPEN_TO_ALL + 1)))
    computes(second, OPEN_TO_ALL)
    assert second.next() == ProposeClaim(Claim(OPEN_TO_ALL, 0, "a"))
