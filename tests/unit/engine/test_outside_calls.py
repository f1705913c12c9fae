"""Calls to the outside world end, whatever the function does: in time, after so many tries, in so many threads."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tandem.engine.calls import Calls, Failure

PLENTY_S = 20.0


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Whoever waits for it hangs until the test is over."""
    event = threading.Event()
    yield event
    event.set()


def test_results_come_in_the_order_of_the_arguments() -> None:
    first_may_return = threading.Event()

    def slow_first(number: int) -> int:
        if number == 0:
            assert first_may_return.wait(PLENTY_S)
        else:
            first_may_return.set()
        return number * 10

    assert Calls().make(slow_first, [0, 1, 2], PLENTY_S, 0) == [0, 10, 20]


def test_a_call_that_fails_is_made_again_alone_and_so_often() -> None:
    made: Counter[str] = Counter()

    def flaky(name: str) -> str:
        made[name] += 1
        if name == "never" or (name == "late" and made[name] < 3):
            raise OSError("connection refused")
        return name.upper()

    results = Calls().make(flaky, ["well", "late", "never"], PLENTY_S, retries=2)

    assert results == ["WELL", "LATE", Failure("OSError: connection refused")]
    assert made == {"well": 1, "late": 3, "never": 3}


def test_a_call_that_hangs_is_given_up(gate: threading.Event) -> None:
    started = time.monotonic()
    results = Calls().make(lambda hangs: gate.wait() if hangs else "here", [True, False], 0.2, retries=1)

    assert results == [Failure("no answer within 0.2 s"), "here"]
    assert time.monotonic() - started < PLENTY_S


def test_no_more_calls_are_made_at_the_same_time_than_allowed() -> None:
    running, most = 0, 0
    lock, both = threading.Lock(), threading.Barrier(2)

    def count(_: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        both.wait(PLENTY_S)
        with lock:
            running -= 1
        both.wait(PLENTY_S)

    assert Calls(most=2).make(count, range(6), PLENTY_S, 0) == [None] * 6
    assert most == 2


def test_calls_that_never_return_keep_their_places_and_others_fail_in_time(gate: threading.Event) -> None:
    calls = Calls(most=2)
    assert calls.make(lambda _: gate.wait(), [0, 1], 0.1, 0) == [Failure("no answer within 0.1 s")] * 2
    assert calls.make(str, [0, 1], 0.1, 0) == [Failure("all 2 places are kept by calls that do not return")] * 2

    gate.set()
    deadline = time.monotonic() + PLENTY_S
    while (results := calls.make(str, [0, 1], 0.1, 0)) != ["0", "1"]:
        assert time.monotonic() < deadline, results


def test_calls_whose_results_nobody_wants_any_more_are_not_waited_for(gate: threading.Event) -> None:
    asked = threading.Event()

    def hang(_: int) -> None:
        asked.set()
        gate.wait()

    assert Calls().make(hang, [0], PLENTY_S, 3, halt=asked.is_set) is None
