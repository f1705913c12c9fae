"""How far ahead the engine is given epochs, and which of them are barriers."""

from __future__ import annotations

from tandem.core.giving import Giving, GivingSettings
from tandem.protocol.barriers import OwnBarriers
from tandem.protocol.values import EpochRange
from unit.protocol.builders import at


def epoch(number: int, records: int = 10, time_ms: int = 0, barrier: bool = False) -> EpochRange:
    start = 1_000 * number
    return EpochRange(number, at(start), at(start + records), time_ms, 0, number, barrier=barrier)


def given(giving: Giving, *epochs: EpochRange) -> list[int]:
    """The numbers of those that are given."""
    return [found.epoch for one in epochs if (found := giving.give(one)) is not None]


def test_two_epochs_are_given_and_one_more_for_each_that_is_computed() -> None:
    giving = Giving(GivingSettings(), None)
    assert given(giving, epoch(0), epoch(1), epoch(2)) == [0, 1]
    giving.computed()
    assert given(giving, epoch(2), epoch(3)) == [2]


def test_small_epochs_are_given_by_their_records() -> None:
    giving = Giving(GivingSettings(most_records=50), None)
    assert given(giving, *(epoch(n) for n in range(9))) == [0, 1, 2, 3, 4]
    giving.computed()
    assert given(giving, epoch(5, records=11)) == []
    assert given(giving, epoch(5, records=10)) == [5]


def test_an_epoch_of_many_records_is_given_as_ever() -> None:
    giving = Giving(GivingSettings(most_records=50), None)
    assert given(giving, epoch(0, 1_000), epoch(1, 1_000), epoch(2, 1)) == [0, 1]


def test_epochs_without_records_are_no_endless_many() -> None:
    giving = Giving(GivingSettings(most_records=50), None)
    assert len(given(giving, *(epoch(n, records=0) for n in range(1_000)))) == 50


def test_the_log_s_barriers_are_passed_on() -> None:
    giving = Giving(GivingSettings(), None)
    assert [giving.give(epoch(n, barrier=n == 1)) for n in range(2)] == [epoch(0), epoch(1, barrier=True)]


def test_own_barriers_are_counted_from_the_state_s_epoch_on() -> None:
    giving = Giving(GivingSettings(most_records=1_000, barriers=OwnBarriers(100)), epoch(9, time_ms=90))
    found = [giving.give(epoch(n, time_ms=10 * n)) for n in range(10, 32)]
    assert [one.epoch for one in found if one is not None and one.barrier] == [10, 20, 30]
