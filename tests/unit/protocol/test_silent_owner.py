"""All that a silent owner has claimed is taken over at once, behind one fence, and not epoch by epoch."""

from __future__ import annotations

from tandem.protocol.actions import Fence, Outcome, ProposeClaim, Publish, ReadToEnd
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Claim
from unit.protocol.builders import cut, marker
from unit.protocol.publishing import MOST_MS, Replica


def overdue(*epochs: int, delivery: Delivery = Delivery.EXACTLY_ONCE) -> Replica:
    """`b` has claimed epochs 0 to 2 and is overdue with the first; `a` has computed `epochs`."""
    replica = Replica(delivery)
    replica.computes(*epochs)
    replica.reads(*(Claim(epoch, 0, "b") for epoch in range(3)))
    replica.now += MOST_MS + 1
    return replica


def publishes(replica: Replica, epoch: int) -> None:
    """Publishes `epoch`, of which `a` is the second owner, at once."""
    assert replica.next() == Publish(epoch, 1)
    replica.done(Outcome.COMMITTED)
    replica.publication.on_marker(marker(epoch, owner="a", attempt=1), replica.now)


def test_one_fence_is_enough_for_all_its_epochs() -> None:
    replica = overdue(0, 1, 2)
    proposals = [replica.next(), replica.next(), replica.next()]
    assert proposals == [ProposeClaim(Claim(epoch, 1, "a")) for epoch in range(3)]
    assert replica.next() is None
    replica.reads(*(Claim(epoch, 1, "a") for epoch in range(3)))

    assert replica.next() == Fence(("b",))
    replica.done()
    assert replica.next() == ReadToEnd()
    replica.done()
    for epoch in range(3):
        publishes(replica, epoch)


def test_what_was_not_claimed_before_the_fence_needs_another() -> None:
    """`b` may have a new producer by then, and still own the epoch."""
    replica = overdue(0)
    assert replica.next() == ProposeClaim(Claim(0, 1, "a"))
    replica.reads(Claim(0, 1, "a"))
    assert replica.next() == Fence(("b",))
    replica.done()
    assert replica.next() == ReadToEnd()
    replica.computes(1)
    assert replica.publication.next_claim(replica.now) == ProposeClaim(Claim(1, 1, "a"))  # nobody waits for `b` again
    replica.reads(Claim(1, 1, "a"))
    replica.done()
    publishes(replica, 0)

    assert replica.next() == Fence(("b",))


def test_who_claims_again_is_waited_for() -> None:
    replica = overdue(0, 1)
    assert replica.next() == ProposeClaim(Claim(0, 1, "a"))
    replica.reads(Claim(0, 1, "a"), cut(3, 4), Claim(3, 0, "b"))

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
    assert replica.next() == ProposeClaim(Claim(0, 1, "a"))
    assert replica.next() is None
