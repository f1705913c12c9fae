"""A transaction's time grows while an epoch needs more, and is short again afterwards."""

from __future__ import annotations

import pytest

from tandem.protocol.transaction_time import TransactionTime


@pytest.fixture
def time() -> TransactionTime:
    return TransactionTime()


def fails(time: TransactionTime, times: int, epoch: int = 7) -> list[tuple[float, bool]]:
    """How long each of so many transactions might take, and whether it was the last one to be tried."""
    limits = []
    for _ in range(times):
        limit = time.limit_s
        limits.append((limit, time.failed(epoch, limit)))
    return limits


def test_an_epoch_that_takes_too_long_gets_twice_the_time_until_that_is_useless(time: TransactionTime) -> None:
    assert fails(time, 5) == [(10.0, False), (20.0, False), (40.0, False), (80.0, False), (160.0, True)]


def test_a_transaction_that_ended_early_does_not_count(time: TransactionTime) -> None:
    assert not any(time.failed(7, 9.9) for _ in range(100))
    assert time.limit_s == 10.0


def test_the_next_epoch_gets_at_once_what_the_last_one_needed(time: TransactionTime) -> None:
    fails(time, 2)
    time.committed(25.0)
    assert time.limit_s == 40.0


def test_the_time_is_short_again_when_that_is_enough(time: TransactionTime) -> None:
    fails(time, 4)
    time.committed(0.1)
    assert time.limit_s == 10.0


def test_one_hanging_transaction_after_slow_ones_is_not_the_end(time: TransactionTime) -> None:
    fails(time, 4)
    time.committed(100.0)
    assert fails(time, 3, epoch=8) == [(160.0, False), (160.0, False), (160.0, True)]
