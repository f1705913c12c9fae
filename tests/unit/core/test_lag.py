"""How far a replica is behind: what is said of it on its way, and from when until when it is ready."""

from __future__ import annotations

import pytest

from tandem.core.catch_up import REAL_TIME, CatchUp, Distance
from tandem.core.lag import Arrival, CatchUpReport, Estimate, Lag, Position
from tandem.protocol.decisions import Decisions
from tandem.protocol.values import Config, Cut, Offsets

BEGAN_MS = 1_000.0


def test_something_is_said_every_three_seconds_while_it_catches_up() -> None:
    report = CatchUpReport(every_ms=3_000, window_ms=10_000)

    said = [ms for ms in range(0, 10_000, 50) if report.look(Position(ms, ms // 50, 1_000), ready=False) is not None]

    assert said == [3_000, 6_000, 9_000]
    assert report.left_s == (1_000 - 190) / 20


def test_at_the_head_it_says_once_that_it_has_arrived() -> None:
    report = CatchUpReport(every_ms=3_000, window_ms=10_000)
    report.look(Position(0, 0, 1_000), ready=False)
    report.look(Position(600, 10, 1_000), ready=False)
    assert report.left_s == (1_000 - 10) / (10 / 0.6)

    assert report.look(Position(9_000, 1_000, 1_000), ready=True) == Arrival(1_000, 9_000)
    assert report.look(Position(9_050, 1_001, 1_001), ready=True) is None
    assert report.left_s == 0


def test_while_it_comes_no_nearer_the_time_is_unknown() -> None:
    report = CatchUpReport()
    report.look(Position(0, 0, 1_000), ready=False)
    report.look(Position(1_000, 20, 1_020), ready=False)

    assert report.left_s is None


def test_old_speeds_are_forgotten() -> None:
    report = CatchUpReport(every_ms=3_000, window_ms=10_000)
    for ms in range(0, 60_000, 500):
        report.look(Position(ms, 0 if ms < 40_000 else (ms - 40_000) // 10, 5_000), ready=False)

    assert report.left_s == (5_000 - 1_950) / 100


def to(last: int, computed: int = 9, ms_each: int = 0) -> Distance:
    """The distance to the head of a log in which epochs up to `last` are cut, at times so far apart."""
    decisions = Decisions()
    decisions.apply(Config(0, "c0ffee", Offsets(), "replica-0"))
    for epoch in range(last + 1):
        decisions.apply(Cut(epoch, Offsets(), epoch * ms_each, 0, "orderer-0"))
    return Distance.of(decisions, computed)


@pytest.fixture
def catch_up() -> CatchUp:
    """One that has computed epochs 0 to 9, at 40 ms each."""
    catch_up = CatchUp("replica-1", -1)
    for epoch in range(10):
        catch_up.computed(epoch, 10, BEGAN_MS + 40 * epoch)
    return catch_up


@pytest.fixture
def lag(catch_up: CatchUp) -> Lag:
    """Of a replica that is at the head, and was long enough."""
    lag = Lag(catch_up, BEGAN_MS)
    lag.look(to(9), has_read_all=True, now_ms=BEGAN_MS + 4_000)
    assert lag.ready
    return lag


def test_a_replica_that_stands_still_is_not_ready_although_it_is_not_far_behind(lag: Lag) -> None:
    for second in range(5):
        lag.look(to(12 + second), has_read_all=True, now_ms=BEGAN_MS + 5_000 + 1_000 * second)
        assert lag.ready
    lag.look(to(17), has_read_all=True, now_ms=BEGAN_MS + 10_100)
    assert not lag.ready


def test_it_is_ready_again_when_it_is_back_at_the_head(lag: Lag, catch_up: CatchUp) -> None:
    lag.look(to(13), has_read_all=True, now_ms=BEGAN_MS + 5_000)
    lag.look(to(17), has_read_all=True, now_ms=BEGAN_MS + 10_100)
    assert not lag.ready
    catch_up.computed(17, 17, BEGAN_MS + 11_000)
    lag.look(to(17, computed=17), has_read_all=True, now_ms=BEGAN_MS + 11_010)
    assert lag.ready


def test_a_replica_that_had_nothing_to_compute_stays_ready(lag: Lag) -> None:
    lag.look(to(9), has_read_all=True, now_ms=BEGAN_MS + 1_000_000)
    assert lag.ready


def test_one_that_falls_far_behind_is_not_ready(lag: Lag) -> None:
    lag.news(to(29))
    assert not lag.ready


@pytest.mark.parametrize(("ms_each", "ready"), [(1, True), (60, False)])
def test_with_short_epochs_it_is_the_time_that_makes_it_far(ms_each: int, ready: bool) -> None:
    lag = Lag(CatchUp("replica-1", 9, REAL_TIME), BEGAN_MS)
    lag.ready = True
    lag.news(to(29, ms_each=ms_each))
    assert lag.ready is ready


def test_an_estimate_is_what_is_said(lag: Lag) -> None:
    lag.ready = False
    looks = (lag.look(to(500), has_read_all=True, now_ms=BEGAN_MS + 20_000 + 600 * i) for i in range(6))
    assert [said for said in looks if said is not None] == [Estimate(491, 0.0, None)]


def test_many_epochs_are_far_also_while_their_time_stands_still() -> None:
    lag = Lag(CatchUp("replica-1", 9, REAL_TIME), BEGAN_MS)
    lag.ready = True
    lag.news(to(9_000, ms_each=0))
    assert lag.ready
    lag.news(to(11_000, ms_each=0))
    assert not lag.ready
