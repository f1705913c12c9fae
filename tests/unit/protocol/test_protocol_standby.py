"""A standby notices that nobody claims, and takes its time while somebody does."""

from __future__ import annotations

from tandem.protocol.silence import SilenceBound
from tandem.protocol.standby import ClaimWatch

LEAST, MOST = 500.0, 5_000.0


def watch() -> ClaimWatch:
    """A watch that has seen four epochs, each claimed 50 ms after its cut."""
    made = ClaimWatch(SilenceBound(LEAST, MOST, factor=3.0))
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
    claims = ClaimWatch(SilenceBound(LEAST, MOST))
    claims.cut(0, 0.0)
    assert not claims.is_silent(MOST)
    assert claims.is_silent(MOST + 1)
