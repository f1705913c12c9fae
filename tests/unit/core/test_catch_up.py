"""A replica says how far behind it is while it lags, now and then, and gives up only when it comes no nearer."""

from __future__ import annotations

import pytest

from tandem.core.catch_up import REAL_TIME, CatchUp, Distance, Near, TooFarBehindError
from tandem.protocol.values import LagReport

FAR = 10_000
"""The log's head where it is far away."""


def replica(*computed_ms: float, last_computed: int = 9, head: int = FAR) -> CatchUp:
    """A replica that stood at epoch 9 and computed the next epochs at these times."""
    catch_up = CatchUp("replica-1", last_computed, Near(hopeless_epochs=100), every_ms=250, patience_ms=1_000)
    for epoch, now_ms in enumerate(computed_ms, start=last_computed + 1):
        catch_up.computed(epoch, head, now_ms)
    return catch_up


def to(head: int, catch_up: CatchUp, ms: float = 0.0) -> Distance:
    """How far it is from the head, in epochs, and in their own time."""
    return Distance(head - catch_up.last_computed, ms)


def test_a_replica_that_lags_reports_its_epoch_and_the_mean_time_of_one() -> None:
    catch_up = replica(0, 40, 90, 1_000, 1_060)

    assert catch_up.report(to(17, catch_up), now_ms=1_060) == LagReport("replica-1", 14, (40 + 50 + 910 + 60) / 4)


def test_at_the_head_there_is_nothing_to_report() -> None:
    catch_up = replica(0, 40)
    assert catch_up.report(to(12, catch_up), now_ms=45) is None
    assert catch_up.report(to(13, catch_up), now_ms=50) is None, "it was at the head"
    assert catch_up.report(to(14, catch_up), now_ms=55) is not None


def test_who_has_not_been_at_the_head_yet_asks_for_room_to_get_there() -> None:
    catch_up = replica(0, 40)
    assert catch_up.report(to(13, catch_up), now_ms=50) == LagReport("replica-1", 11, 40)


def test_who_has_computed_nothing_yet_has_not_been_at_the_head() -> None:
    catch_up = replica()
    assert catch_up.report(to(10, catch_up), now_ms=0) is None
    catch_up.computed(10, FAR, 40)
    catch_up.computed(11, FAR, 80)
    assert catch_up.report(to(13, catch_up), now_ms=80) is not None


def test_before_it_has_timed_an_epoch_it_reports_nothing() -> None:
    for catch_up in (replica(), replica(0)):
        assert catch_up.report(to(500, catch_up), now_ms=50) is None


def test_what_it_waited_for_is_no_time_of_an_epoch() -> None:
    catch_up = replica(0, 1_000, 2_000, head=0)
    assert catch_up.report(to(500, catch_up), now_ms=2_000) is None

    catch_up.computed(13, head=16, now_ms=3_000)
    catch_up.computed(14, head=17, now_ms=3_040)

    assert catch_up.report(to(17, catch_up), now_ms=3_040) == LagReport("replica-1", 14, 40)


def test_that_it_has_caught_up_is_told_once_and_at_once() -> None:
    catch_up = replica(0, 40)
    assert catch_up.report(to(14, catch_up), now_ms=50) is not None

    catch_up.computed(11, head=14, now_ms=60)
    assert catch_up.report(to(13, catch_up), now_ms=70) is None, "a report was made a moment ago"
    assert catch_up.report(to(13, catch_up), now_ms=310) is not None, "two epochs behind it has not caught up"
    catch_up.computed(12, head=14, now_ms=320)

    assert catch_up.report(to(13, catch_up), now_ms=330) == LagReport("replica-1", 12, 0)
    assert catch_up.report(to(13, catch_up), now_ms=340) is None


def test_reports_are_a_quarter_of_a_second_apart() -> None:
    catch_up = replica(0, 40)

    reported = [now for now in range(50, 1_050, 10) if catch_up.report(to(500, catch_up), now_ms=now) is not None]

    assert reported == [50, 300, 550, 800]


def test_a_replica_far_behind_that_comes_no_nearer_starts_again() -> None:
    catch_up = replica(0, 40)
    catch_up.check(to(111, catch_up), has_read_all=True, now_ms=50)
    catch_up.computed(12, FAR, 60)

    with pytest.raises(TooFarBehindError, match="101 epochs behind"):
        catch_up.check(to(113, catch_up), has_read_all=True, now_ms=1_051)


def test_a_replica_far_behind_that_comes_nearer_goes_on() -> None:
    catch_up = replica(0, 40)
    catch_up.check(to(211, catch_up), has_read_all=True, now_ms=50)
    catch_up.computed(12, FAR, 60)
    catch_up.check(to(211, catch_up), has_read_all=True, now_ms=1_051)
    catch_up.computed(13, FAR, 1_060)

    catch_up.check(to(211, catch_up), has_read_all=True, now_ms=2_052)


def test_a_replica_that_was_near_in_between_has_its_time_again() -> None:
    catch_up = replica(0, 40)
    catch_up.check(to(111, catch_up), has_read_all=True, now_ms=50)
    catch_up.check(to(110, catch_up), has_read_all=True, now_ms=500)
    catch_up.check(to(111, catch_up), has_read_all=True, now_ms=510)

    catch_up.check(to(111, catch_up), has_read_all=True, now_ms=1_400)


def test_one_that_has_only_begun_to_read_the_log_does_not_know_yet_how_far_it_is_behind() -> None:
    catch_up = CatchUp("replica-0", -1)
    for step, (computed, head) in enumerate([(0, 301), (1, 598), (100, 700), (395, 818), (396, 819)]):
        catch_up.computed(computed, head, step * 16_000.0)
        catch_up.check(to(head, catch_up), True, step * 16_000.0)


def test_while_the_log_is_still_read_nobody_knows_whether_the_head_comes_nearer() -> None:
    catch_up = replica(0)
    for step in range(100):
        catch_up.check(to(1_000 + 100 * step, catch_up), has_read_all=False, now_ms=1_000.0 * step)
    catch_up.check(to(FAR, catch_up), has_read_all=True, now_ms=100_000)
    catch_up.check(to(FAR, catch_up), has_read_all=False, now_ms=101_001)

    with pytest.raises(TooFarBehindError):
        catch_up.check(to(FAR, catch_up), has_read_all=True, now_ms=101_001)


def test_the_first_epoch_takes_the_time_it_takes() -> None:
    catch_up = replica()
    catch_up.check(to(FAR, catch_up), has_read_all=True, now_ms=0)
    catch_up.check(to(FAR, catch_up), has_read_all=True, now_ms=600_000)
    catch_up.computed(10, FAR, 600_000)

    catch_up.check(to(FAR, catch_up), has_read_all=True, now_ms=600_000)


def test_who_lags_and_computes_nothing_for_seconds_stands_still() -> None:
    catch_up = replica(0, 40)
    assert not catch_up.stands_still(to(14, catch_up), now_ms=100)
    assert not catch_up.stands_still(to(17, catch_up), now_ms=5_090)
    assert catch_up.stands_still(to(17, catch_up), now_ms=5_110)

    catch_up.computed(12, FAR, 5_200)
    assert not catch_up.stands_still(to(17, catch_up), now_ms=5_300), "it goes on"


def test_who_is_near_the_head_or_slow_by_nature_does_not_stand_still() -> None:
    near = replica(0, 40)
    assert not near.stands_still(to(13, near), now_ms=60_000), "nobody has gone on without it"

    slow = replica(0, 10_000)
    assert not slow.stands_still(to(14, slow), now_ms=10_100)
    assert not slow.stands_still(to(15, slow), now_ms=35_000)
    assert slow.stands_still(to(16, slow), now_ms=45_000)


def test_who_had_nothing_to_do_for_long_has_time_for_what_comes_then() -> None:
    catch_up = replica(0, 40)
    assert not catch_up.stands_still(to(11, catch_up), now_ms=1_000_000)
    assert not catch_up.stands_still(to(14, catch_up), now_ms=1_000_050)
    assert not catch_up.stands_still(to(14, catch_up), now_ms=1_005_000)
    assert catch_up.stands_still(to(14, catch_up), now_ms=1_005_100)


# Epochs of a millisecond -----------------------------------------------------------------------------------------------


def real_time(*computed_ms: float) -> CatchUp:
    """One at the head that computed an epoch each millisecond."""
    catch_up = CatchUp("replica-1", 9, REAL_TIME)
    for epoch, now_ms in enumerate(computed_ms, start=10):
        catch_up.computed(epoch, FAR, now_ms)
        catch_up.report(Distance(1), now_ms)
    return catch_up


def test_who_turns_over_is_a_hundred_epochs_behind_and_asks_for_no_room() -> None:
    catch_up = real_time(0, 1, 2)
    assert catch_up.report(Distance(140, 140.0), 150) is None
    assert catch_up.report(Distance(301, 301.0), 310) is not None, "a third of a second is no turnover"


def test_who_is_some_milliseconds_behind_has_caught_up() -> None:
    catch_up = real_time(0, 1, 2)
    assert catch_up.report(Distance(400, 400.0), 410) is not None
    catch_up.computed(13, FAR, 411)
    assert catch_up.report(Distance(20, 20.0), 411) == LagReport("replica-1", 13, 0)


def test_epochs_alone_make_nobody_hopeless() -> None:
    catch_up = real_time(0, 1, 2)
    for second in range(200):
        catch_up.check(Distance(9_000, 9_000.0), True, 1_000.0 * second)
    catch_up.check(Distance(11_000, 11_000.0), True, 200_000.0)
    with pytest.raises(TooFarBehindError):
        catch_up.check(Distance(11_000, 11_000.0), True, 261_000.0)
