"""The lanes of one schedule, each a world, side by side at one site."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from simulation.changing import ChangingWorlds
from simulation.deviation import Deviation
from simulation.hosts import Hosts
from simulation.running import run
from simulation.schedule import Schedule
from simulation.site import Site
from simulation.world import World


class Worlds:
    """Runs a schedule that has lanes, as `World` runs one that has not."""

    def __init__(self, schedule: Schedule, deviation: Deviation | None = None, telling: bool = False) -> None:
        assert schedule.lanes is not None
        self.schedule, self.site = schedule, Site()
        schedules = schedule.lanes.schedules
        if deviation is not None and deviation.lanes_share == "partitions":
            everything = tuple(sorted(arrival for one in schedules for arrival in one.arrivals))
            schedules = tuple(replace(one, partitions=(), arrivals=everything) for one in schedules)
        self.lanes = [World(one, deviation, telling, self.site) for one in schedules]
        self.hosts = Hosts(self.site, schedule.lanes)

    @property
    def seen(self) -> Counter[str]:
        """The situations that were got into."""
        return self.site.seen

    @property
    def story(self) -> list[str]:
        """What happened, if asked for."""
        return self.site.story

    @property
    def longest_silence(self) -> float:
        """Of the output of any lane, ms."""
        return max(lane.longest_silence for lane in self.lanes)

    def run(self) -> None:
        """Run to the end. Raises `InvariantError`."""
        run(self.site)
        assert self.site.sink is not None
        self.site.sink.at_the_end(self.lanes)


def world_of(
    schedule: Schedule, deviation: Deviation | None = None, telling: bool = False
) -> World | Worlds | ChangingWorlds:
    """What runs a schedule."""
    if schedule.lane_changes is not None:
        return ChangingWorlds(schedule, deviation, telling)
    return (World if schedule.lanes is None else Worlds)(schedule, deviation, telling)
