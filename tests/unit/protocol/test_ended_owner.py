"""An owner whose process was seen to end is taken over at once; one that lives all the same is not, for long."""

from __future__ import annotations

from tandem.protocol.actions import Fence, ProposeClaim
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Claim
from unit.protocol.builders import marker
from unit.protocol.publishing import MOST_MS, Replica

GRACE_MS = 10.0  # the least bound


def waiting_for(owner: str, delivery: Delivery = Delivery.EXACTLY_ONCE) -> Replica:
    """`owner` has just claimed epoch 0, which `a` has computed too."""
    replica = Replica(delivery)
    replica.computes(0)
    replica.reads(Claim(0, 0, owner))
    assert replica.next() is None
    return replica


def sees_the_end_of(replica: Replica, *names: str) -> None:
    replica.publication.ended.see({*names}, replica.now)


def test_an_owner_that_has_ended_is_taken_over_at_once_and_fenced() -> None:
    replica = waiting_for("b")
    sees_the_end_of(replica, "b")
    assert replica.next() == ProposeClaim(Claim(0, 1, "a"))
    replica.reads(Claim(0, 1, "a"))
    assert replica.next() == Fence(("b",))


def test_others_are_waited_for() -> None:
    replica = waiting_for("b")
    sees_the_end_of(replica, "c")
    assert replica.next() is None


def test_who_is_back_is_waited_for() -> None:
    replica = waiting_for("b")
    sees_the_end_of(replica, "b")
    sees_the_end_of(replica)
    assert replica.next() is None


def test_what_was_on_its_way_when_it_ended_shows_no_life() -> None:
    replica = Replica()
    replica.computes(0)
    sees_the_end_of(replica, "b")
    replica.now += GRACE_MS
    replica.reads(Claim(0, 0, "b"))
    assert replica.next() == ProposeClaim(Claim(0, 1, "a"))


def test_who_claims_later_lives_whatever_is_seen() -> None:
    replica = Replica()
    replica.computes(0)
    sees_the_end_of(replica, "b")
    replica.now += GRACE_MS + 1
    replica.reads(Claim(0, 0, "b"))
    sees_the_end_of(replica, "b")  # said again and again
    assert replica.next() is None


def test_who_publishes_later_lives() -> None:
    replica = waiting_for("b")
    replica.computes(1)
    replica.reads(Claim(1, 0, "b"))
    sees_the_end_of(replica, "b")
    replica.now += GRACE_MS + 1
    replica.publication.on_marker(marker(0, owner="b"), replica.now)
    assert replica.next() is None


def test_two_that_see_each_others_end_do_not_fence_each_other_for_ever() -> None:
    replica = waiting_for("b")
    sees_the_end_of(replica, "b", "c")
    replica.reads(Claim(0, 1, "c"))
    assert replica.next() is None
    replica.now += 2 * MOST_MS + 1
    assert replica.next() == ProposeClaim(Claim(0, 2, "a"))


def test_at_most_once_each_epoch_gets_its_time() -> None:
    replica = waiting_for("b", Delivery.AT_MOST_ONCE)
    sees_the_end_of(replica, "b")
    assert replica.next() is None
