"""Hosts that hold processes of several lanes, and what happens to all of those at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.standby import StandbyReplica

if TYPE_CHECKING:
    from simulation.lanes import Lanes
    from simulation.process import Process
    from simulation.schedule import Failure
    from simulation.site import Site
    from simulation.world import World

_KINDS = {"host lost": "crash", "host paused": "pause", "host isolated": "isolate"}


class Hosts:
    """Where each process is, an orderer beside its replica; and the failures that hit more than one lane."""

    def __init__(self, site: Site, lanes: Lanes) -> None:
        self._site, self._lanes = site, lanes
        for failure in lanes.failures:
            site.timeline.at(failure.at_ms, None, self._inject, failure)

    def host_of(self, world: World, process: Process) -> str:
        """No two replicas of a lane are on one host."""
        lane, number = world.schedule.lane or 0, int(process.name.rpartition("-")[2])
        return f"host-{(number + lane * self._lanes.shift) % self._lanes.hosts}"

    def _inject(self, failure: Failure) -> None:
        if failure.kind not in _KINDS:
            self._site.lanes[0].injector.inject(failure, self._site.lanes[0].process("orderer-0"))
            return
        hit = [
            (world, process)
            for world in self._site.lanes
            for process in world.processes
            if process.alive and self.host_of(world, process) == failure.target
        ]
        worlds = list({id(world): world for world, _ in hit}.values())
        if not hit or any(world.injector.is_busy for world in worlds):
            return
        self._note(failure, hit, len(worlds))
        until = self._site.timeline.now + failure.duration_ms
        for world, process in hit:
            lost = failure.kind == "host lost" and isinstance(process, StandbyReplica)
            world.injector.strike("machine lost" if lost else _KINDS[failure.kind], process, until)

    def _note(self, failure: Failure, hit: list[tuple[World, Process]], lanes: int) -> None:
        world = hit[0][0]
        world.reached(f"failure: {failure.kind}")
        if lanes > 1:
            world.reached(f"{failure.kind}, with replicas of several lanes")
        owners = [one for lane, one in hit if lane.is_owner(one)]
        if len(owners) > 1:
            world.reached(f"{failure.kind}, with the owners of several lanes")
