"""When the next cut is proposed, and by whom."""

from __future__ import annotations

import pytest

from tandem.protocol.pace import Pace, PaceSettings
from tandem.protocol.timeouts import AdaptiveTimeout


def _pace(settings: PaceSettings | None = None) -> Pace:
    return Pace(settings or PaceSettings(most_rest_ms=0.0), AdaptiveTimeout(20.0, 100.0))


def _claimed(pace: Pace, epoch: int, cut_at: float, claimed_at: float) -> Pace:
    pace.cut(epoch, cut_at)
    pace.claimed(epoch, claimed_at)
    return pace


def test_the_first_cut_waits_only_for_input() -> None:
    pace = _pace()
    assert not pace.wants_cut(0.0, leading=True)
    pace.input_seen(5.0)
    assert pace.wants_cut(5.0, leading=True)


def test_no_cut_is_wanted_while_nobody_can_take_it() -> None:
    pace = _pace()
    pace.cut(0, 10.0)
    pace.input_seen(11.0)
    assert not pace.wants_cut(1e9, leading=True)
    pace.claimed(0, 60.0)
    assert pace.wants_cut(60.0, leading=True)


def test_the_claim_of_another_epoch_changes_nothing() -> None:
    pace = _pace()
    pace.cut(7, 10.0)
    pace.claimed(6, 11.0)
    pace.input_seen(12.0)
    assert not pace.wants_cut(12.0, leading=True)


def test_each_cut_needs_input_of_its_own() -> None:
    pace = _pace()
    pace.input_seen(1.0)
    _claimed(pace, 0, 2.0, 3.0)
    assert not pace.wants_cut(1e9, leading=True)


def test_the_others_propose_when_the_leader_is_silent_for_longer_than_the_bound() -> None:
    pace = _claimed(_pace(), 0, 0.0, 10.0)
    pace.input_seen(5.0)
    assert pace.wants_cut(10.0, leading=True)
    assert not pace.wants_cut(109.0, leading=False)
    assert pace.wants_cut(110.0, leading=False)


def test_a_leader_that_was_quick_is_missed_sooner() -> None:
    pace = _pace()
    pace.input_seen(0.0)
    pace.cut(0, 4.0)  # 4 ms after it was due: the bound is 2 × 4, and 20 at least
    pace.claimed(0, 10.0)
    pace.input_seen(10.0)
    assert not pace.wants_cut(29.0, leading=False)
    assert pace.wants_cut(30.0, leading=False)


def test_a_leader_whose_cuts_come_before_anybody_else_looks_for_input_is_missed_sooner() -> None:
    pace = _claimed(_pace(), 0, 10.0, 20.0)
    pace.cut(1, 30.0)
    pace.claimed(1, 40.0)
    pace.input_seen(50.0)
    assert not pace.wants_cut(69.0, leading=False)
    assert pace.wants_cut(70.0, leading=False)


def test_a_cut_that_waited_for_input_says_nothing_about_the_leader() -> None:
    pace = _claimed(_pace(), 0, 10.0, 20.0)
    pace.cut(1, 41.0)
    pace.claimed(1, 50.0)
    pace.input_seen(60.0)
    assert not pace.wants_cut(159.0, leading=False)
    assert pace.wants_cut(160.0, leading=False)


def test_who_stepped_in_for_a_silent_leader_goes_on_at_once() -> None:
    pace = _claimed(_pace(), 0, 0.0, 10.0)
    pace.input_seen(10.0)
    assert pace.wants_cut(110.0, leading=False)
    pace.cut(1, 111.0, mine=True)
    pace.claimed(1, 120.0)
    pace.input_seen(120.0)
    assert pace.acts
    assert pace.wants_cut(120.0, leading=pace.acts)


def test_a_leader_that_is_back_ends_the_stepping_in() -> None:
    pace = _pace()
    pace.cut(0, 1.0, mine=True)
    pace.cut(1, 2.0)
    assert not pace.acts


def test_what_others_had_to_wait_for_a_dead_leader_does_not_stretch_the_bound() -> None:
    pace = _claimed(_pace(), 0, 0.0, 50.0)
    pace.input_seen(50.0)
    _claimed(pace, 1, 60.0, 100.0)
    pace.input_seen(100.0)
    pace.cut(2, 140.0, mine=True)  # 40 ms after it was due
    pace.claimed(2, 150.0)
    pace.input_seen(150.0)
    assert not pace.wants_cut(169.0, leading=False)
    assert pace.wants_cut(170.0, leading=False)


def test_epochs_are_at_least_the_users_interval_apart() -> None:
    pace = _claimed(_pace(PaceSettings(min_epoch_interval_ms=100.0)), 0, 0.0, 10.0)
    pace.input_seen(10.0)
    assert not pace.wants_cut(99.0, leading=True)
    assert pace.wants_cut(100.0, leading=True)


@pytest.mark.parametrize(("took_ms", "due_ms"), [(4.0, 8.0), (100.0, 110.0)])
def test_behind_an_epoch_there_is_a_rest_as_long_as_it_took_but_no_longer_than_the_bound(
    took_ms: float, due_ms: float
) -> None:
    pace = _claimed(_pace(PaceSettings(most_rest_ms=10.0)), 0, 0.0, took_ms)
    pace.input_seen(took_ms)
    assert not pace.wants_cut(due_ms - 1, leading=True)
    assert pace.wants_cut(due_ms, leading=True)


def test_there_is_no_rest_behind_an_epoch_that_took_longer_than_usual() -> None:
    pace = _pace(PaceSettings(most_rest_ms=10.0))
    for epoch in range(7):
        _claimed(pace, epoch, epoch * 20.0, epoch * 20.0 + 5.0)
    _claimed(pace, 7, 140.0, 155.0)
    pace.input_seen(155.0)
    assert pace.wants_cut(155.0, leading=True), "as after a kill"


def test_a_rest_is_short_behind_an_epoch_that_took_less_than_usual() -> None:
    pace = _pace(PaceSettings(most_rest_ms=10.0))
    for epoch in range(7):
        _claimed(pace, epoch, epoch * 2_000.0, epoch * 2_000.0 + 1_999.0)
    _claimed(pace, 7, 14_000.0, 14_010.0)
    pace.input_seen(14_010.0)
    assert not pace.wants_cut(14_019.0, leading=True)
    assert pace.wants_cut(14_020.0, leading=True), "as behind a backlog"


def test_there_is_no_rest_while_records_are_left() -> None:
    pace = _pace(PaceSettings(most_rest_ms=10.0))
    pace.proposed(leaves=True)
    _claimed(pace, 0, 0.0, 4.0).input_seen(4.0)
    assert pace.wants_cut(4.0, leading=True)
    pace.proposed(leaves=False)
    _claimed(pace, 1, 4.0, 8.0).input_seen(8.0)
    assert not pace.wants_cut(8.0, leading=True)


def _ten_epochs(lagging: int, said_at: float, epoch_ms: float = 40.0) -> Pace:
    """Ten epochs, one each 100 ms and claimed 50 ms after its cut, while a replica is at epoch `lagging`."""
    pace = _pace()
    for epoch in range(10):
        _claimed(pace, epoch, epoch * 100.0, epoch * 100.0 + 50.0)
    pace.progress("replica-1", lagging, epoch_ms, said_at)
    return pace


def test_without_input_no_epoch_is_wanted_unless_the_user_wants_them_for_timers() -> None:
    assert not _claimed(_pace(), 0, 10.0, 20.0).wants_empty(1e9)
    pace = _claimed(_pace(PaceSettings(idle_epoch_interval_ms=500.0)), 0, 10.0, 20.0)
    assert not pace.wants_empty(509.0)
    assert pace.wants_empty(510.0)


def test_a_replica_that_lags_gets_room() -> None:
    assert _ten_epochs(lagging=6, said_at=900.0).interval_ms(950.0) == 60.0


def test_a_replica_that_is_near_needs_none() -> None:
    assert _ten_epochs(lagging=7, said_at=900.0).interval_ms(950.0) == 60.0
    assert _ten_epochs(lagging=8, said_at=900.0).interval_ms(950.0) == 0.0


def test_a_replica_that_has_fallen_silent_gets_none() -> None:
    assert _ten_epochs(lagging=0, said_at=0.0).interval_ms(2_001.0) == 0.0


def test_room_never_becomes_a_gap_for_the_readers() -> None:
    assert _ten_epochs(lagging=0, said_at=900.0, epoch_ms=5_000.0).interval_ms(950.0) == 150.0
    slow = _claimed(_pace(), 0, 0.0, 400.0)
    _claimed(slow, 5, 1_000.0, 1_400.0)
    slow.progress("replica-1", 0, 5_000.0, 1_300.0)
    assert slow.interval_ms(1_400.0) == 2.5 * 400.0


def test_a_replica_that_has_caught_up_needs_no_room_any_more_however_many_epochs_follow() -> None:
    pace = _ten_epochs(lagging=6, said_at=900.0)
    pace.progress("replica-1", 7, 0.0, 950.0)  # was at the head when it said so; the head has moved on since
    for epoch in range(10, 15):
        _claimed(pace, epoch, epoch * 100.0, epoch * 100.0 + 50.0)

    assert pace.interval_ms(1_500.0) == 0.0


def test_who_starts_after_published_epochs_does_not_mistake_a_replica_for_one_that_lags() -> None:
    pace = _pace()
    pace.resume(41)
    pace.progress("replica-1", 40, 50.0, 0.0)
    assert pace.interval_ms(0.0) == 0.0
