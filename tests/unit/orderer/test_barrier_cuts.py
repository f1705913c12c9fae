"""Where a generation asks for barriers, the first epoch of a period is one, and what is owed when input ends is cut."""

from __future__ import annotations

from dataclasses import replace

from tandem.protocol.values import Claim
from unit.orderer.orderer_bench import AGAIN_MS, BARRIER_MS, CONFIG, Bench, at


def barriers(bench: Bench, *wall_ms: int) -> list[bool]:
    """Whether each of the next cuts is a barrier, which are made at these times, accepted and claimed."""
    found = []
    for wall in wall_ms:
        bench.wall_ms, epoch = wall, bench.core.decisions.last_epoch + 1
        bench.available = epoch + 1
        (cut,) = bench.after(10)
        bench.shows(cut, Claim(epoch, 0, "r"))
        found.append(cut.barrier)
    return found


def test_the_first_epoch_of_a_period_is_a_barrier_where_the_generation_asks_for_them() -> None:
    bench = Bench(config=replace(CONFIG, barriers=True))
    assert barriers(bench, 4_000, 4_999, 5_002, 5_003, 17_000, 17_001) == [False, False, True, False, True, False]
    assert barriers(Bench(), 4_000, 4_999, 5_002, 5_003) == [False] * 4, "nobody asks"


def test_a_cut_that_gets_lost_is_a_barrier_when_it_is_cut_again() -> None:
    bench = Bench(config=replace(CONFIG, barriers=True))
    barriers(bench, 4_000)
    bench.wall_ms, bench.available = 5_002, 2
    (lost,) = bench.after(10)
    bench.wall_ms = 5_600
    (again,) = bench.after(AGAIN_MS)
    assert lost.barrier
    assert again.barrier
    assert lost.epoch == again.epoch == 1


def test_where_another_s_cut_without_it_was_first_the_next_one_is_the_barrier() -> None:
    bench = Bench(config=replace(CONFIG, barriers=True))
    barriers(bench, 4_000)
    bench.wall_ms, bench.available = 5_002, 2
    (mine,) = bench.after(10)
    bench.shows(replace(mine, proposer="other", time_ms=4_998, barrier=False), mine, Claim(1, 0, "r"))
    assert barriers(bench, 5_003) == [True]


def test_when_input_ends_one_epoch_more_is_cut_as_the_barrier_that_is_owed() -> None:
    bench = Bench(config=replace(CONFIG, barriers=True))
    barriers(bench, 4_000, 4_500)
    bench.wall_ms = 4_500 + BARRIER_MS
    assert bench.after(BARRIER_MS - 1) == []
    (empty,) = bench.after(1)
    assert (empty.epoch, empty.ends, empty.barrier) == (2, at(2), True)
    bench.shows(empty, Claim(2, 0, "r"))
    bench.wall_ms += 10 * BARRIER_MS
    assert bench.after(10 * BARRIER_MS) == [], "nothing came since"


def test_no_epoch_is_owed_where_nobody_asks_for_barriers() -> None:
    bench = Bench()
    barriers(bench, 4_000, 4_500)
    bench.wall_ms = 1_000_000
    assert bench.after(10 * BARRIER_MS) == []


def test_behind_a_clock_that_was_ahead_time_goes_on_at_half_the_pace_until_the_own_one_has_caught_up() -> None:
    bench = Bench(config=replace(CONFIG, barriers=True))
    ahead = 24 * 3_600_000
    barriers(bench, ahead)
    times = []
    for passed in range(1, 5):
        bench.wall_ms, bench.available = 4_000 + passed * BARRIER_MS, passed + 1
        (cut,) = bench.after(BARRIER_MS)
        bench.shows(cut, Claim(passed, 0, "r"))
        times.append((cut.time_ms - ahead, cut.barrier))
    assert times == [(2_500, False), (5_000, True), (7_500, False), (10_000, True)]
    assert bench.core.state.minutes_ahead == 24 * 60 - 1
    assert barriers(bench, ahead + 20_000) == [True], "the clock has caught up"
    assert bench.core.state.minutes_ahead == 0
