"""A standby notices that nobody claims, and takes its time while somebody does; one replaces an active that ended."""

from __future__ import annotations

from tandem.protocol.membership import ClaimWatch, replaces_ended
from tandem.protocol.switchover import Holder, Role, View
from tandem.protocol.timeouts import AdaptiveTimeout

LEAST, MOST = 500.0, 5_000.0


def watch() -> ClaimWatch:
    """A watch that has seen four epochs, each claimed 50 ms after its cut."""
    made = ClaimWatch(AdaptiveTimeout(LEAST, MOST, factor=3.0))
    for epoch in range(4):
        made.cut(epoch, epoch * 100.0)
        made.claimed(epoch, epoch * 100.0 + 50.0)
    return made


def test_claims_in_time_are_no_silence() -> None:
    assert not watch().is_silent(10_000.0)


def test_a_cut_that_nobody_claims_is_silence_after_the_bound() -> None:
    claims = watch()
    claims.cut(4, 1_000.0)
    assert not claims.is_silent(1_000.0 + LEAST)
    assert claims.is_silent(1_001.0 + LEAST)


def test_the_oldest_unclaimed_cut_counts() -> None:
    claims = watch()
    claims.cut(4, 1_000.0)
    claims.cut(5, 1_400.0)
    assert claims.is_silent(1_600.0)


def test_a_claim_ends_the_silence_of_all_epochs_before_it() -> None:
    claims = watch()
    claims.cut(4, 1_000.0)
    claims.cut(5, 1_400.0)
    claims.claimed(5, 1_500.0)
    assert not claims.is_silent(60_000.0)


def test_slow_epochs_stretch_the_bound() -> None:
    claims = watch()
    claims.cut(4, 1_000.0)
    claims.claimed(4, 2_000.0)
    claims.cut(5, 2_000.0)
    assert not claims.is_silent(5_000.0)
    assert claims.is_silent(5_001.0)


def test_before_any_claim_was_seen_the_bound_is_the_longest() -> None:
    claims = ClaimWatch(AdaptiveTimeout(LEAST, MOST))
    claims.cut(0, 0.0)
    assert not claims.is_silent(MOST)
    assert claims.is_silent(MOST + 1)


ACTIVE, OTHER = "air.replica-0.aa", "air.replica-1.bb"
FIRST, SECOND = "air.replica-2.cc", "air.replica-3.dd"


def job(**roles: Role) -> View:
    """Two actives with slots, two standbys; `roles` of others or instead, by the last two letters."""
    by_letters = {name[-2:]: name for name in (ACTIVE, OTHER, FIRST, SECOND)}
    usual = {ACTIVE: Role.READY, OTHER: Role.READY, FIRST: Role.STANDBY, SECOND: Role.STANDBY}
    return View({0: Holder(ACTIVE), 1: Holder(OTHER)}, usual | {by_letters[key]: role for key, role in roles.items()})


def replacing(view: View, *ended: str) -> set[str]:
    return {name for name in (ACTIVE, OTHER, FIRST, SECOND) if replaces_ended(view, name, set(ended))}


def test_nobody_is_replaced_while_nobody_has_ended() -> None:
    assert replacing(job()) == set()


def test_each_active_that_ended_is_replaced_by_one_standby() -> None:
    assert replacing(job(), ACTIVE) == {FIRST}
    assert replacing(job(), ACTIVE, OTHER) == {FIRST, SECOND}


def test_of_two_standbys_the_one_that_has_proved_its_state_replaces_who_ended() -> None:
    assert replacing(job(dd=Role.PROVED), ACTIVE) == {SECOND}
    assert replacing(job(cc=Role.PROVED, dd=Role.PROVED), ACTIVE) == {FIRST}
    assert replacing(job(dd=Role.PROVED), ACTIVE, OTHER) == {FIRST, SECOND}


def test_a_standby_that_ended_is_neither_replaced_nor_replaces() -> None:
    assert replacing(job(), FIRST) == set()
    assert replacing(job(), FIRST, ACTIVE) == {SECOND}


def test_whoever_computes_without_a_slot_has_replaced_one() -> None:
    assert replacing(job(cc=Role.CATCHING_UP), ACTIVE) == set()
    assert replacing(job(cc=Role.CATCHING_UP), ACTIVE, OTHER) == {SECOND}


def test_a_replacement_that_ended_as_well_is_replaced() -> None:
    assert replacing(job(cc=Role.CATCHING_UP), ACTIVE, FIRST) == {SECOND}


def test_an_active_whose_slot_is_free_already_is_replaced_by_whoever_takes_the_slot() -> None:
    assert replacing(View({1: Holder(OTHER)}, {OTHER: Role.READY, FIRST: Role.STANDBY}), ACTIVE) == set()
