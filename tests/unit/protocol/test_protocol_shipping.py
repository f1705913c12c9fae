"""Who ships, and when a standby proves its state."""

from __future__ import annotations

from tandem.protocol.shipping import ShippingTurn
from tandem.protocol.silence import SilenceBound
from tandem.protocol.verification import VerificationPace


def turn(me: str) -> ShippingTurn:
    return ShippingTurn(me, SilenceBound(least_ms=500, most_ms=3_000))


def test_nobody_ships_at_once_when_nobody_shipped_before() -> None:
    mine = turn("a")
    mine.published(0, 100)
    assert not mine.is_mine(3_000)
    assert mine.is_mine(3_101)


def test_the_first_shipper_goes_on_without_waiting() -> None:
    mine = turn("a")
    mine.delta(7, "a", 100)
    mine.published(8, 110)
    assert mine.is_mine(111)
    assert mine.shipped == 7


def test_others_leave_it_to_a_shipper_that_ships() -> None:
    mine = turn("b")
    for epoch in range(100):
        mine.published(epoch, epoch * 100)
        mine.delta(epoch, "a", epoch * 100 + 90)
        assert not mine.is_mine(epoch * 100 + 99)


def test_another_takes_over_when_published_epochs_stay_unshipped() -> None:
    mine = turn("b")
    mine.published(0, 0)
    mine.delta(0, "a", 100)
    mine.published(1, 200)
    mine.published(2, 300)
    assert not mine.is_mine(700)
    assert mine.is_mine(701), "500 ms is the least bound, and twice 100 ms less"


def test_the_bound_follows_how_long_shipping_takes() -> None:
    mine = turn("b")
    mine.published(0, 0)
    mine.delta(0, "a", 400)
    mine.published(1, 1_000)
    assert not mine.is_mine(1_600)
    assert mine.is_mine(1_601)


def test_the_first_delta_of_an_epoch_says_who_ships() -> None:
    one, other = turn("a"), turn("b")
    for watch in (one, other):
        watch.delta(5, "a", 0)
        watch.delta(6, "b", 10)
        watch.delta(6, "a", 11)
    assert not one.is_mine(12)
    assert other.is_mine(12)


def test_a_zombies_old_deltas_change_nothing() -> None:
    mine = turn("b")
    mine.delta(6, "b", 10)
    mine.delta(3, "a", 11)
    assert mine.shipped == 6
    assert mine.is_mine(12)


def test_the_first_proof_is_due_at_once() -> None:
    assert VerificationPace().is_due(-1)


def test_the_next_proof_is_due_when_the_actives_have_worked_long_enough() -> None:
    pace = VerificationPace(share=0.05)
    pace.proved(epoch=1_000, cost_ms=2_000, epoch_ms=50)
    assert not pace.is_due(1_799)
    assert pace.is_due(1_800), "800 epochs of 50 ms, of which 2 s are a twentieth"


def test_proofs_that_cost_nothing_still_leave_room_between_them() -> None:
    pace = VerificationPace(least_epochs=20)
    pace.proved(epoch=10, cost_ms=0, epoch_ms=0)
    assert not pace.is_due(29)
    assert pace.is_due(30)
