"""Who ships, and when a standby proves its state."""

from __future__ import annotations

from tandem.protocol.shipping import ShippingTurn
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.verification import VerificationPace


def turn(me: str) -> ShippingTurn:
    return ShippingTurn(me, AdaptiveTimeout(least_ms=500, most_ms=3_000))


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


SMALL = 10
FULL = 100_000_000


def proven(size: int = SMALL, **settings: float) -> VerificationPace:
    """A pace after one proof."""
    pace = VerificationPace(**settings)
    assert pace.is_due(-1, size), "the first at once"
    assert pace.begin(size) == pace.long
    pace.ended(epoch=1_000, cost_ms=2_000, epoch_ms=50, right=True)
    return pace


def test_the_next_proof_is_due_when_the_actives_have_worked_long_enough() -> None:
    pace = proven(share=0.05)
    assert not pace.is_due(1_799, SMALL)
    assert pace.is_due(1_800, SMALL), "800 epochs of 50 ms, of which 2 s are a twentieth"
    assert pace.begin(SMALL) == pace.short


def test_proofs_that_cost_nothing_still_leave_room_between_them() -> None:
    pace = proven()
    pace.ended(epoch=1_010, cost_ms=0, epoch_ms=0, right=True)
    assert not pace.is_due(1_029, SMALL)
    assert pace.is_due(1_030, SMALL)


def next_due(pace: VerificationPace, after: int) -> int:
    """In how many epochs the next proof is due."""
    return next(epochs for epochs in range(200_000) if pace.is_due(after + epochs, SMALL))


def test_a_proof_without_a_verdict_is_soon_tried_again_until_there_was_one() -> None:
    pace, waits = VerificationPace(share=0.05), []
    pace.begin(SMALL)
    for _ in range(7):
        pace.ended(epoch=1_000, cost_ms=300, epoch_ms=0.2, right=None)
        waits.append(next_due(pace, 1_000))
    assert waits == [20, 80, 320, 1_280, 5_120, 20_480, 30_000], "in the end proofs have their share"
    pace.ended(epoch=1_000, cost_ms=300, epoch_ms=0.2, right=True)
    assert next_due(pace, 1_000) == 30_000


def test_a_proved_state_is_not_proved_sooner_since_a_later_proof_had_no_verdict_but_if_it_was_wrong() -> None:
    pace = proven()
    pace.ended(epoch=1_000, cost_ms=300, epoch_ms=0.1, right=None)
    assert next_due(pace, 1_000) == 75_000
    pace.ended(epoch=1_000, cost_ms=300, epoch_ms=0.1, right=False)
    assert next_due(pace, 1_000) == 20, "another state takes its place, which is not proved"
    pace.ended(epoch=1_000, cost_ms=300, epoch_ms=0.1, right=None)
    assert next_due(pace, 1_000) == 80
    pace.ended(epoch=1_000, cost_ms=300, epoch_ms=0.1, right=True)
    assert next_due(pace, 1_000) == 75_000


def test_a_standby_that_was_warm_with_an_empty_state_gets_warm_with_a_full_one() -> None:
    pace = proven()
    assert pace.is_due(1_001, FULL)
    assert pace.begin(FULL) == pace.long
    pace.ended(epoch=1_001, cost_ms=2_000, epoch_ms=50, right=True)
    assert not pace.is_due(1_002, 3 * FULL), "not much larger"
    assert pace.is_due(1_002, 4 * FULL)


def test_a_state_that_shrinks_and_grows_again_asks_for_nothing() -> None:
    pace = proven(FULL)
    assert not pace.is_due(1_001, SMALL)
    assert pace.begin(SMALL) == pace.short
    assert not pace.is_due(1_001, FULL)
    assert pace.begin(FULL) == pace.short


def test_small_states_are_all_alike() -> None:
    pace = proven(SMALL)
    assert not pace.is_due(1_001, 3_999_999)
    assert pace.is_due(1_001, 4_000_000)
