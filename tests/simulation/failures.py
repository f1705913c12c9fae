"""Injects what a schedule says, at its time or at the step it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.clock import Life
from simulation.orderer import Orderer
from simulation.process import Process
from simulation.schedule import Failure

if TYPE_CHECKING:
    from simulation.world import World

SETTLE_MS = 700.0
_RESTART_MS = 60.0


class Injector:
    """In an `alone` schedule, a failure that would overlap with another, or with the recovery from it, is left out."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.healed_at = 0.0
        self._waiting = [failure for failure in world.schedule.failures if failure.step]
        self._counts: dict[str, int] = {}
        self._steps = frozenset(failure.step for failure in self._waiting)
        for failure in world.schedule.failures:
            if not failure.step:
                world.timeline.at(failure.at_ms, None, self._inject, failure, world.process(failure.target))

    def reached(self, step: str, who: Life) -> None:
        """`who` has taken that step."""
        if step not in self._steps:
            return
        count = self._counts[step] = self._counts.get(step, 0) + 1
        for failure in self._waiting:
            if failure.step == step and failure.nth == count and isinstance(who, Process):
                self._inject(failure, who)

    def _inject(self, failure: Failure, who: Process) -> None:
        world = self._world
        now = world.timeline.now
        if world.schedule.alone and now < self.healed_at + (SETTLE_MS if self.healed_at else 0.0):
            return
        if not who.alive:
            return
        until = now + failure.duration_ms
        self.healed_at = max(self.healed_at, until)
        world.tell(who, f"*** {failure.kind}, until {until:.1f}")
        world.reached(f"failure: {failure.kind}")
        match failure.kind:
            case "crash":
                self._crash(who, until)
            case "full stop":
                for process in world.processes:
                    if process.alive:
                        self._crash(process, until + world.rng.uniform(0, 50))
                world.checker.excuse(self.healed_at)
            case "pause":
                self._pause(who, until)
            case "isolate":
                who.cut_off_until = max(who.cut_off_until, until)
            case "suspend":
                if isinstance(who, Orderer) and not world.schedule.heartbeat:
                    world.ensemble.suspend(who.session, until)
            case "zookeeper outage":
                world.ensemble.outage(until)
            case "broker outage":
                world.broker_down_until = max(world.broker_down_until, until)
                world.checker.excuse(until)

    def _crash(self, who: Process, until: float) -> None:
        who.crash()
        self._silence(who)
        self._world.timeline.at(until + _RESTART_MS, None, self._restart, who)
        self.healed_at = max(self.healed_at, until + _RESTART_MS)

    def _restart(self, who: Process) -> None:
        if not who.alive:
            if self._world.timeline.now < self._world.broker_down_until:
                self._world.timeline.at(self._world.broker_down_until + _RESTART_MS, None, self._restart, who)
                return
            self._world.tell(who, "starts again")
            who.start()

    def _pause(self, who: Process, until: float) -> None:
        who.paused_until = max(who.paused_until, until)
        self._silence(who)
        self._world.timeline.at(who.paused_until, None, self._resume, who, who.life)

    def _resume(self, who: Process, life: int) -> None:
        if who.life == life and who.alive and self._world.timeline.now >= who.paused_until:
            self._world.tell(who, "resumes")
            if isinstance(who, Orderer) and not self._world.schedule.heartbeat:
                self._world.ensemble.heard(who.session)

    def _silence(self, who: Process) -> None:
        if isinstance(who, Orderer) and not self._world.schedule.heartbeat:
            self._world.ensemble.silent(who.session)
