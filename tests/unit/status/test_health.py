"""Stuck, or only busy."""

from __future__ import annotations

import math

import pytest

from tandem.status.serving import Health


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> Health:
    return Health(loop_s=60, epoch_s=600, clock_s=clock)


def test_a_process_that_starts_for_an_hour_is_not_stuck(health: Health, clock: Clock) -> None:
    clock.now_s += 3_600

    assert not health.is_stuck


def test_a_loop_that_stands_still_is_stuck(health: Health, clock: Clock) -> None:
    health.beat()
    clock.now_s += 59
    busy = health.is_stuck
    clock.now_s += 2

    assert not busy
    assert health.is_stuck


def test_a_long_epoch_is_busy_and_one_that_never_ends_is_stuck(health: Health, clock: Clock) -> None:
    health.progress(7, behind=1)
    clock.now_s += 599
    health.beat()
    busy = health.is_stuck
    clock.now_s += 2
    health.progress(7, behind=20)
    health.beat()

    assert not busy
    assert health.is_stuck


def test_a_replica_that_catches_up_is_not_stuck(health: Health, clock: Clock) -> None:
    for epoch in range(100):
        clock.now_s += 500
        health.progress(epoch, behind=1_000)
        health.beat()

    assert not health.is_stuck


def test_restoring_takes_as_long_as_it_takes(health: Health, clock: Clock) -> None:
    health.beat()
    health.pause()
    clock.now_s += 3_600
    restoring = health.is_stuck
    health.beat()

    assert not restoring
    assert not health.is_stuck


def test_a_process_that_computes_no_epochs_is_never_behind(clock: Clock) -> None:
    health = Health(loop_s=60, epoch_s=math.inf, clock_s=clock)
    for _ in range(100):
        clock.now_s += 50
        health.beat()

    assert not health.is_stuck


def test_a_job_without_input_is_not_stuck(health: Health, clock: Clock) -> None:
    for _ in range(100):
        clock.now_s += 500
        health.progress(7, behind=0)
        health.beat()

    assert not health.is_stuck
