"""Lanes that share brokers, ZooKeeper and the sink: what happens to one is not seen in another."""

from dataclasses import replace

import pytest

from simulation.campaign import story
from simulation.running import SILENCE_BOUND_MS
from simulation.schedule import Failure, Schedule
from simulation.worlds import Worlds
from tandem.protocol.publication_rules import Delivery

LONG_MS = 4_000.0


def lanes(seed: int, *failures: Failure) -> Schedule:
    """A schedule with lanes of whom only the first one has failures."""
    drawn = Schedule.with_lanes(seed)
    assert drawn.lanes is not None
    schedules = [replace(one, failures=failures if one.lane == 0 else ()) for one in drawn.lanes.schedules]
    return replace(drawn, lanes=replace(drawn.lanes, schedules=tuple(schedules), failures=()))


def is_calm(schedule: Schedule) -> bool:
    return (
        schedule.redundancy is None
        and schedule.delivery is Delivery.EXACTLY_ONCE
        and not schedule.slow_messages
        and not schedule.unknown
    )


CALM = [seed for seed in range(105, 1_000, 10) if is_calm(Schedule.with_lanes(seed))][:4]


def story_of(lane: int, schedule: Schedule) -> list[str]:
    """What one lane does."""
    told = story(schedule)
    assert told.endswith("no invariant was broken")
    return [line for line in told.splitlines() if f" job.lane-{lane} " in line]


@pytest.mark.parametrize("seed", CALM)
def test_a_lane_without_any_replica_does_not_stop_another(seed: int) -> None:
    worlds = Worlds(lanes(seed, Failure("full stop", LONG_MS, at_ms=60.0)))
    worlds.run()
    assert worlds.seen["a lane published while another had no replica"] > 0
    assert max(lane.longest_silence for lane in worlds.lanes[1:]) < SILENCE_BOUND_MS


@pytest.mark.parametrize("seed", CALM)
def test_what_a_lane_does_is_the_same_to_the_moment_whatever_happens_to_another(seed: int) -> None:
    calm = story_of(1, lanes(seed))
    assert len(calm) > 20
    assert story_of(1, lanes(seed, Failure("full stop", LONG_MS, at_ms=60.0)))[: len(calm)] == calm
