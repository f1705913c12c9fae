"""All that a silent owner has claimed is taken over at once, behind one fence, and not epoch by epoch."""

from __future__ import annotations

from dataclasses import replace

from tandem.protocol.actions import Fence, Outcome, ProposeClaim, Publish, ReadToEnd
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Claim
from unit.protocol.builders import config, cut, marker
from unit.protocol.publishing import MOST_MS, Replica


def overdue(*epochs: int, delivery: Delivery = Delivery.EXACTLY_ONCE) -> Replica:
    """`b` has claimed epochs 0 to 2 and is overdue with the first; `a` has computed `epochs`."""
    replica = Replica(delivery)
    replica.computes(*epochs)
    replica.reads(*(Claim(epoch, 0, "b") for epoch in range(3)))
    replica.now += MOST_MS + 1
    return replica


def takes_over_the_head(replica: Replica) -> None:
    assert replica.next() == ProposeClaim(Claim(0, 1, "a"))
    assert replica.next() is None
    replica.reads(Claim(0, 1, "a"))


def publishes(replica: Replica, epoch: int) -> None:
    """Publishes `epoch`, of which `a` is the second owner, at once."""
    assert replica.next() == Publish(epoch, 1)
    replica.done(Outcome.COMMITTED)
    replica.publication.on_marker(marker(epoch, owner="a", attempt=1), replica.now)


def test_one_fence_is_enough_for_all_its_epochs() -> None:
    replica = overdue(0, 1, 2)
    takes_over_the_head(replica)
    assert [replica.next(), replica.next()] == [ProposeClaim(Claim(epoch, 1, "a")) for epoch in (1, 2)]
    replica.reads(Claim(1, 1, "a"))
    assert replica.next() is None  # the other claim is on its way
    replica.reads(Claim(2, 1, "a"))

    assert replica.next() == Fence(("b",))
    replica.done()
    assert replica.next() == ReadToEnd()
    replica.done()
    for epoch in range(3):
        publishes(replica, epoch)


def test_what_was_not_claimed_before_the_fence_needs_another() -> None:
    """`b` may have a new producer by then, and still own the epoch."""
    replica = overdue(0)
    takes_over_the_head(replica)
    assert replica.next() == Fence(("b",))
    replica.done()
    assert replica.next() == ReadToEnd()
    replica.computes(1)
    assert replica.publication.next_claim(replica.now) == ProposeClaim(Claim(1, 1, "a"))  # nobody waits for `b` again
    replica.reads(Claim(1, 1, "a"))
    replica.done()
    publishes(replica, 0)

    assert replica.next() == Fence(("b",))


def test_a_claim_that_is_lost_is_not_waited_for_long() -> None:
    replica = overdue(0, 1)
    takes_over_the_head(replica)
    assert replica.next() == ProposeClaim(Claim(1, 1, "a"))
    assert replica.next() is None
    replica.now += MOST_MS

    assert replica.next() == ProposeClaim(Claim(1, 1, "a"))  # again
    replica.now += MOST_MS
    replica.reads(Claim(1, 1, "c"))  # of another one, which was quicker
    assert replica.next() == Fence(("b",))


def test_who_was_paused_takes_nothing_more_from_an_owner_that_went_on() -> None:
    """Its clock may tell it that the owner is overdue before it has read what the owner has published meanwhile."""
    replica = overdue(0, 1, 2)
    assert replica.next() == ProposeClaim(Claim(0, 1, "a"))
    assert replica.next() is None
    replica.publication.on_marker(marker(0, owner="b"), replica.now)
    replica.reads(Claim(0, 1, "a"))  # too late

    assert replica.next() is None


def test_a_generation_takes_over_one_epoch_of_the_last_one_until_it_has_published() -> None:
    replica = Replica(generation=1)
    replica.computes(0, 1, 2)
    replica.reads(*(Claim(epoch, 0, "b") for epoch in range(3)), config(3, generation=1))
    replica.now += 4 * MOST_MS + 1
    assert replica.next() == ProposeClaim(Claim(0, 1, "a", 1))
    replica.reads(Claim(0, 1, "a", 1))
    assert replica.next() == Fence(("b",))
    replica.now += 4 * MOST_MS + 1
    assert replica.publication.next_claim(replica.now) is None
    replica.done()
    assert replica.next() == ReadToEnd()
    replica.done()
    assert replica.next() == Publish(0, 1)
    replica.done(Outcome.COMMITTED)
    replica.publication.on_marker(replace(marker(0, owner="a", attempt=1), generation=1), replica.now)

    assert replica.next() == ProposeClaim(Claim(1, 1, "a", 1))


def test_who_retires_waits_for_the_claims_that_it_has_made() -> None:
    replica = overdue(0)
    assert replica.next() == ProposeClaim(Claim(0, 1, "a"))
    replica.publication.retire()
    assert replica.publication.owes


def test_who_claims_again_is_waited_for() -> None:
    replica = overdue(0, 1)
    takes_over_the_head(replica)
    replica.reads(cut(3, 4), Claim(3, 0, "b"))

    assert replica.publication.next_claim(replica.now) is None


def test_who_published_after_all_is_waited_for() -> None:
    replica = overdue(0)
    assert replica.next() == ProposeClaim(Claim(0, 1, "a"))
    replica.publication.on_marker(marker(0, owner="b"), replica.now)
    replica.computes(1)

    assert replica.next() is None
    replica.now += MOST_MS + 1
    assert replica.next() == ProposeClaim(Claim(1, 1, "a"))


def test_at_most_once_each_epoch_is_waited_for() -> None:
    """Its rows are given up with its owner."""
    replica = overdue(0, 1, delivery=Delivery.AT_MOST_ONCE)
    takes_over_the_head(replica)
    assert replica.publication.next_claim(replica.now) is None
