"""Faults that the bench makes: whom they hit, and that a slow process has its share of the time and no more."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest
from bench.faults import KINDS, TURN_S, Strike, slowed

from tandem.waiting import Deadline, wait_until

BUSY = "while True: pass"


class Recorded:
    """What was done to a system."""

    def __init__(self) -> None:
        self.done: list[tuple[str, str]] = []

    def kill(self, replica: str) -> None:
        self.done.append(("kill", replica))

    def pause(self, replica: str) -> None:
        self.done.append(("pause", replica))

    def resume(self, replica: str) -> None:
        self.done.append(("resume", replica))


@pytest.fixture
def busy() -> Iterator[psutil.Process]:
    process = subprocess.Popen([sys.executable, "-c", BUSY], start_new_session=True)
    yield psutil.Process(process.pid)
    process.kill()
    process.wait(10)


def test_a_kill_is_of_one_and_another_kind_of_all() -> None:
    system, chance = Recorded(), random.Random(1)
    Strike.drawn(("kill",), ["replica-1", "replica-0"], chance).hit(system, lambda _: None)
    assert [what for what, _ in system.done] == ["kill"]

    system.done.clear()
    Strike.drawn(("kill-all",), ["replica-1", "replica-0"], chance).hit(system, lambda _: None)
    assert sorted(system.done) == [("kill", "replica-0"), ("kill", "replica-1")]


def test_kills_in_turn_are_of_all_with_time_between() -> None:
    system = Recorded()

    def spend(seconds: float) -> None:
        system.done.append(("spend", f"{seconds:g}"))

    Strike.drawn(("kill-in-turn",), ["replica-1", "replica-0"], random.Random(1)).hit(system, spend)

    first, kill, between, other = system.done
    assert (first, between) == (("spend", "0"), ("spend", f"{TURN_S:g}"))
    assert {kill, other} == {("kill", "replica-0"), ("kill", "replica-1")}


def test_who_is_paused_goes_on_even_where_the_run_fails_meanwhile() -> None:
    system = Recorded()

    def fails(_: float) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        Strike("pause", ("replica-0",)).hit(system, fails)
    assert system.done == [("pause", "replica-0"), ("resume", "replica-0")]


def test_chaos_has_all_kinds() -> None:
    chance = random.Random(1)
    assert {Strike.drawn(KINDS, ["a", "b"], chance).kind for _ in range(30)} == set(KINDS)


def test_a_slow_process_has_its_share_and_then_goes_on(busy: psutil.Process) -> None:
    def spent_s() -> float:
        return float(busy.cpu_times().user)

    def share() -> float:
        deadline, before_s = Deadline(60), spent_s()
        assert wait_until(lambda: spent_s() - before_s >= 0.3, deadline, 0.01)
        return (spent_s() - before_s) / (60 - deadline.remaining_s)

    with slowed(lambda: [busy.pid]):
        assert wait_until(lambda: busy.status() == psutil.STATUS_STOPPED, Deadline(10), 0.001)
        least = min(share() for _ in range(3))  # whoever stops it may himself come late once
    assert least < 0.6
    assert wait_until(lambda: busy.status() != psutil.STATUS_STOPPED, Deadline(10))
