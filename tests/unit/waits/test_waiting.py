"""How often a condition is asked."""

from __future__ import annotations

import pytest

from tandem import waiting
from tandem.waiting import Deadline, wait_until


class Time:
    """A clock that goes on by what sleeps, and by what is asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 0.0
        self.slept_s: list[float] = []
        monkeypatch.setattr(waiting.time, "sleep", self.sleep)

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_s += seconds

    def never(self, takes_s: float) -> bool:
        """A condition that does not hold, and takes so long to say so."""
        self.now_s += takes_s
        return False


@pytest.mark.parametrize(
    ("takes_s", "rests_s"),
    [(0.0, 0.02), (0.004, 0.02), (0.01, 0.04), (0.05, 0.2), (10.0, 0.25)],
    ids=["at once", "cheap", "dear", "dearer", "no answer for long"],
)
def test_what_takes_long_to_answer_is_asked_less_often(
    monkeypatch: pytest.MonkeyPatch, takes_s: float, rests_s: float
) -> None:
    time = Time(monkeypatch)
    assert not wait_until(lambda: time.never(takes_s), Deadline(100.0, time), 0.02)
    assert time.slept_s[0] == pytest.approx(rests_s)


def test_nobody_sleeps_beyond_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time(monkeypatch)
    assert not wait_until(lambda: time.never(0.05), Deadline(0.2, time), 0.02)
    assert time.slept_s == pytest.approx([0.15])
    assert time.now_s == pytest.approx(0.25)


def test_an_interval_that_is_longer_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Time(monkeypatch)
    assert not wait_until(lambda: time.never(0.05), Deadline(3.0, time), 2.0)
    assert time.slept_s[0] == pytest.approx(2.0)
