"""How long is too long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tandem.protocol.timeouts import AdaptiveTimeout


def _after(*seen: float, window: int = 64) -> float:
    bound = AdaptiveTimeout(50.0, 1_000.0, factor=3.0, window=window)
    for elapsed in seen:
        bound.observe(elapsed)
    return bound.ms


def test_nothing_seen_yet_is_given_the_most_time() -> None:
    assert _after() == 1_000.0


def test_the_bound_follows_the_slowest_answer() -> None:
    assert _after(20.0, 100.0, 30.0) == 300.0


def test_the_bound_stays_between_least_and_most() -> None:
    assert _after(1.0) == 50.0
    assert _after(900.0) == 1_000.0


def test_an_old_slow_answer_is_forgotten() -> None:
    assert _after(200.0, 40.0, 40.0, window=2) == 120.0


def test_the_bound_is_careful_until_enough_was_seen() -> None:
    bound = AdaptiveTimeout(50.0, 1_000.0, factor=3.0, enough=3, careful_ms=400.0)
    bounds = []
    for elapsed in (100.0, 20.0, 20.0):
        bound.observe(elapsed)
        bounds.append(bound.ms)
    assert bounds == [400.0, 400.0, 300.0]


@pytest.mark.parametrize("elapsed", [-1.0, float("inf"), float("nan")])
def test_an_impossible_time_is_refused(elapsed: float) -> None:
    with pytest.raises(ValueError, match="finite and not negative"):
        AdaptiveTimeout(50.0, 1_000.0).observe(elapsed)


@given(st.lists(st.floats(0, 1e9)))
def test_the_bound_is_always_within_its_limits(seen: list[float]) -> None:
    assert 50.0 <= _after(*seen) <= 1_000.0
