"""The last failover, as it is seen in the logs."""

from __future__ import annotations

from time import process_time

from tandem.core.failovers import Failover, Failovers
from tandem.protocol.values import Claim, Marker


def marker(epoch: int, attempt: int, owner: str) -> Marker:
    return Marker(epoch, attempt, owner, "d", 1, 100 + epoch)


def published_by_a(failovers: Failovers) -> None:
    """Epoch 0 is published after 1 s."""
    failovers.claimed(Claim(0, 0, "a"))
    failovers.published(marker(0, 0, "a"), 1_000)


def taken_over_by_b(failovers: Failovers) -> None:
    """Epoch 1 was claimed first by `a`, who says nothing more."""
    failovers.claimed(Claim(1, 0, "a"))
    failovers.claimed(Claim(1, 1, "b"))


def test_an_epoch_that_its_first_owner_publishes_is_no_failover() -> None:
    failovers = Failovers()
    for epoch, owner in enumerate(("a", "b", "a")):
        failovers.claimed(Claim(epoch, 0, owner))
        failovers.published(marker(epoch, 0, owner), epoch * 10)

    assert failovers.last is None
    assert failovers.publisher == "a"


def test_a_failover_names_both_owners_and_the_gap() -> None:
    failovers = Failovers()
    published_by_a(failovers)
    taken_over_by_b(failovers)
    failovers.published(marker(1, 1, "b"), 1_230)

    assert failovers.last == Failover(1, "a", "b", 230, 1_230)


def test_all_that_is_taken_over_at_once_is_one_failover() -> None:
    failovers = Failovers()
    published_by_a(failovers)
    taken_over_by_b(failovers)
    failovers.published(marker(1, 1, "b"), 1_230)
    failovers.claimed(Claim(2, 0, "a"))
    failovers.claimed(Claim(2, 1, "b"))
    failovers.published(marker(2, 1, "b"), 1_233)

    assert failovers.last == Failover(1, "a", "b", 230, 1_230)

    failovers.claimed(Claim(3, 0, "b"))
    failovers.published(marker(3, 0, "b"), 1_240)
    failovers.claimed(Claim(4, 0, "a"))
    failovers.claimed(Claim(4, 1, "b"))
    failovers.published(marker(4, 1, "b"), 1_500)

    assert failovers.last == Failover(4, "a", "b", 260, 1_500)


def test_idle_hours_before_the_epoch_was_cut_are_no_gap() -> None:
    failovers = Failovers()
    published_by_a(failovers)
    failovers.ordered(1, 7_200_000)
    taken_over_by_b(failovers)
    failovers.published(marker(1, 1, "b"), 7_200_180)

    assert failovers.last == Failover(1, "a", "b", 180, 7_200_180)


def test_a_gap_counts_from_the_publication_before_if_the_epoch_was_cut_already() -> None:
    failovers = Failovers()
    failovers.ordered(0, 900)
    failovers.ordered(1, 950)
    published_by_a(failovers)
    taken_over_by_b(failovers)
    failovers.published(marker(1, 1, "b"), 1_230)

    assert failovers.last == Failover(1, "a", "b", 230, 1_230)


def test_a_take_over_that_the_first_owner_was_quicker_than_is_none() -> None:
    failovers = Failovers()
    published_by_a(failovers)
    taken_over_by_b(failovers)
    failovers.published(marker(1, 0, "a"), 1_230)

    assert failovers.last is None


def test_where_one_replica_is_active_at_a_time_another_publisher_has_taken_over() -> None:
    failovers = Failovers(alone=True)
    failovers.publisher = "job.replica-0.aa"
    failovers.ordered(7, 900)
    failovers.claimed(Claim(7, 0, "job.replica-1.bb"))
    failovers.published(marker(7, 0, "job.replica-1.bb"), 1_400)

    assert failovers.last == Failover(7, "job.replica-0.aa", "job.replica-1.bb", 500, 1_400)


def test_a_replica_that_was_restarted_takes_over_from_nobody() -> None:
    failovers = Failovers(alone=True)
    failovers.publisher = "job.replica-0.aa"
    failovers.ordered(7, 900)
    failovers.published(marker(7, 0, "job.replica-0.bb"), 1_400)

    assert failovers.last is None
    assert failovers.publisher == "job.replica-0.bb"


def test_of_several_replicas_each_may_publish() -> None:
    failovers = Failovers()
    failovers.publisher = "job.replica-0.aa"
    failovers.ordered(7, 900)
    failovers.published(marker(7, 0, "job.replica-1.bb"), 1_400)

    assert failovers.last is None


def test_clocks_that_differ_make_no_gap_negative() -> None:
    failovers = Failovers(alone=True)
    failovers.publisher = "job.replica-0.aa"
    failovers.ordered(7, 1_405)
    failovers.published(marker(7, 0, "job.replica-1.bb"), 1_400)

    assert failovers.last is not None
    assert failovers.last.gap_ms == 0


def test_a_marker_costs_the_same_however_many_epochs_are_known() -> None:
    """A replica that replays from a barrier has read of thousands of epochs before it takes in the first marker."""

    def cost_s(known: int) -> float:
        failovers = Failovers()
        for epoch in range(known):
            failovers.ordered(epoch, epoch)
            failovers.claimed(Claim(epoch, 0, "a"))
        began = process_time()
        for epoch in range(300):
            failovers.published(Marker(epoch, 0, "a", "d", 1, epoch), epoch)
        return process_time() - began

    assert cost_s(20_000) < 10 * cost_s(300) + 0.02


def test_a_claim_of_what_is_published_is_no_take_over() -> None:
    failovers = Failovers()
    failovers.published(Marker(7, 0, "a", "d", 1, 7), 0)
    failovers.claimed(Claim(7, 1, "b"))
    failovers.claimed(Claim(8, 0, "b"))
    failovers.published(Marker(8, 0, "b", "d", 1, 8), 10)
    assert failovers.last is None
    assert failovers._owners == {}
