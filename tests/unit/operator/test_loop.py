"""Every job is looked at in time, none waits for another one, and a failing one is left in peace for a while."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest
from prometheus_client import CollectorRegistry

from tandem_operator.loop import Loop
from tandem_operator.metrics import OperatorMetrics
from tandem_operator.store import Key

A, B = Key("default", "a"), Key("default", "b")
DEADLINE_S = 10.0


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), DEADLINE_S))


def loop_of(reconcile: Callable[[Key], Awaitable[float]], **options: float) -> Loop:
    return Loop(reconcile, OperatorMetrics(CollectorRegistry()), **options)  # type: ignore[arg-type]


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)


def test_many_events_are_one_pass() -> None:
    passes: Counter[Key] = Counter()

    async def reconcile(key: Key) -> float:
        passes[key] += 1
        return 3_600.0

    async def test() -> None:
        loop = loop_of(reconcile)
        for _ in range(100):
            loop.wake(A)
        await until(lambda: passes[A] > 0)
        loop.wake(B)  # a second pass of A would be due before it
        await until(lambda: passes[B] > 0)
        await loop.stop()

    run(test)
    assert passes == {A: 1, B: 1}


def test_an_event_during_a_pass_makes_another_one() -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()
    passes = []

    async def reconcile(key: Key) -> float:
        passes.append(key)
        entered.set()
        await go_on.wait()
        return 3_600.0

    async def test() -> None:
        loop = loop_of(reconcile)
        loop.wake(A)
        await entered.wait()
        loop.wake(A)
        go_on.set()
        await until(lambda: len(passes) == 2)
        await loop.stop()

    run(test)


def test_a_pass_that_hangs_holds_up_no_other_job() -> None:
    seen = []

    async def reconcile(key: Key) -> float:
        if key == A:
            await asyncio.Event().wait()
        seen.append(key)
        return 3_600.0

    async def test() -> None:
        loop = loop_of(reconcile)
        loop.wake(A)
        loop.wake(B)
        await until(lambda: seen == [B])
        await loop.stop()

    run(test)


def test_a_quiet_job_is_looked_at_again_after_a_while() -> None:
    passes = []

    async def reconcile(key: Key) -> float:
        passes.append(key)
        return 0.01

    async def test() -> None:
        loop = loop_of(reconcile)
        loop.wake(A)
        await until(lambda: len(passes) >= 3)
        await loop.stop()

    run(test)


def test_a_failing_job_is_tried_again_later_and_later() -> None:
    times: list[float] = []

    async def reconcile(_: Key) -> float:
        times.append(asyncio.get_running_loop().time())
        raise RuntimeError("refused")

    async def test() -> None:
        loop = loop_of(reconcile, first_s=0.02, most_s=0.08)
        loop.wake(A)
        await until(lambda: len(times) == 5)
        await loop.stop()

    run(test)
    gaps = [later - sooner for sooner, later in pairwise(times)]
    for gap, least in zip(gaps, (0.02, 0.04, 0.08, 0.08), strict=True):
        assert gap >= least * 0.9


def test_events_do_not_hurry_a_failing_job() -> None:
    times: list[float] = []

    async def reconcile(_: Key) -> float:
        times.append(asyncio.get_running_loop().time())
        raise RuntimeError("refused")

    async def test() -> None:
        loop = loop_of(reconcile, first_s=0.05)
        while len(times) < 3:
            loop.wake(A)
            await asyncio.sleep(0.002)
        await loop.stop()

    run(test)
    assert times[1] - times[0] >= 0.045
    assert times[2] - times[1] >= 0.09


def test_a_job_that_is_gone_is_forgotten() -> None:
    passes: list[Key] = []
    forgotten: list[Key] = []

    async def reconcile(key: Key) -> float:
        passes.append(key)
        return 0.01

    async def test() -> None:
        loop = Loop(reconcile, OperatorMetrics(CollectorRegistry()), forgotten.append)
        loop.wake(A)
        await until(lambda: bool(passes))
        loop.forget(A)
        count = passes.count(A)
        loop.wake(B)  # comes back every 10 ms, as A would
        await until(lambda: passes.count(B) > 3)
        assert passes.count(A) == count
        await loop.stop()

    run(test)
    assert forgotten == [A]


def test_a_job_of_which_a_pass_says_that_it_is_gone_is_forgotten() -> None:
    forgotten: list[Key] = []
    passes = []

    async def reconcile(key: Key) -> float | None:
        passes.append(key)
        return None

    async def test() -> None:
        loop = Loop(reconcile, OperatorMetrics(CollectorRegistry()), forgotten.append)
        for count in (1, 2):
            loop.wake(A)  # the second one is another job of that name
            await until(lambda: len(forgotten) == count)  # noqa: B023
        await loop.stop()

    run(test)
    assert passes == forgotten == [A, A]


def test_a_job_that_comes_back_during_the_pass_that_finds_it_gone_is_not_forgotten() -> None:
    forgotten: list[Key] = []
    passes = []

    async def test() -> None:
        async def reconcile(key: Key) -> float | None:
            passes.append(key)
            if len(passes) > 1:
                return 3_600.0
            loop.wake(key)
            return None

        loop = Loop(reconcile, OperatorMetrics(CollectorRegistry()), forgotten.append)
        loop.wake(A)
        await until(lambda: len(passes) == 2)
        await loop.stop()

    run(test)
    assert forgotten == []


@pytest.mark.parametrize("at_once", [1, 3])
def test_so_many_passes_run_at_once_and_no_more(at_once: int) -> None:
    running, most = 0, 0
    done = []

    async def reconcile(key: Key) -> float:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.005)
        running -= 1
        done.append(key)
        return 3_600.0

    async def test() -> None:
        loop = loop_of(reconcile, at_once=at_once)
        for number in range(9):
            loop.wake(Key("default", f"job-{number}"))
        await until(lambda: len(done) == 9)
        await loop.stop()

    run(test)
    assert most == at_once
