"""Injects what a schedule says, at its time or at the step it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.clock import Life
from simulation.process import Process
from simulation.schedule import Failure
from simulation.standby import StandbyReplica

if TYPE_CHECKING:
    from simulation.world import World

SETTLE_MS = 700.0
_RESTART_MS = 60.0
_OF_ONE = frozenset({"crash", "machine lost", "pause", "isolate"})
_FOR_ALL_LANES = frozenset({"all actives, no zookeeper", "zookeeper outage", "broker outage", "store outage"})


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
                who = world.process(failure.target or "orderer-0")
                world.timeline.at(failure.at_ms, None, self.inject, failure, who)

    def reached(self, step: str, who: Life) -> None:
        """`who` has taken that step."""
        if step not in self._steps:
            return
        count = self._counts[step] = self._counts.get(step, 0) + 1
        for failure in self._waiting:
            if failure.step == step and failure.nth == count and isinstance(who, Process):
                self.inject(failure, who)

    @property
    def is_busy(self) -> bool:
        """Whether nothing may fail now."""
        settled = self.healed_at + (SETTLE_MS if self.healed_at else 0.0)
        return self._world.schedule.alone and self._world.timeline.now < settled

    def strike(self, kind: str, who: Process, until: float) -> None:
        """Let something happen to a process, whatever else happens."""
        self.healed_at = max(self.healed_at, until)
        self._world.tell(who, f"*** {kind}, until {until:.1f}")
        match kind:
            case "crash":
                self._crash(who, until)
            case "machine lost":
                self._lose_machine(who, until)
            case "pause":
                self._pause(who, until)
            case "isolate":
                who.cut_off_until = max(who.cut_off_until, until)

    def inject(self, failure: Failure, who: Process) -> None:
        """Let a failure happen now, if it may."""
        world = self._world
        now = world.timeline.now
        lanes = world.site.lanes if failure.kind in _FOR_ALL_LANES else [world]
        if any(lane.injector.is_busy for lane in lanes) or (failure.target and not who.alive):
            return
        until = now + failure.duration_ms
        for lane in lanes:
            lane.injector.healed_at = max(lane.injector.healed_at, until)
        if failure.kind not in _OF_ONE:
            world.tell(who, f"*** {failure.kind}, until {until:.1f}")
        world.reached(f"failure: {failure.kind}")
        match failure.kind:
            case "all actives" | "all actives, no zookeeper":
                if failure.kind != "all actives":
                    back = until + world.rng.uniform(0, 300)
                    for ensemble in world.ensembles():
                        ensemble.outage(back)
                for replica in world.actives():
                    self._crash(replica, until + world.rng.uniform(0, 200))
            case "switchover":
                if world.requester is not None:
                    world.requester.ask_for_switchover()
            case "stop":
                if isinstance(who, StandbyReplica):
                    who.stop(failure.duration_ms)
            case "store outage":
                for lane in lanes:
                    lane.store.down_until = max(lane.store.down_until, until)
            case "damage":
                world.store.damage()
            case "full stop":
                for process in world.processes:
                    if process.alive:
                        self._crash(process, until + world.rng.uniform(0, 50))
                world.checker.excuse(self.healed_at)
            case "suspend":
                if who.session is not None:
                    world.ensemble.suspend(who.session, until)
            case "zookeeper outage":
                for ensemble in world.ensembles():
                    ensemble.outage(until)
            case "broker outage":
                for lane in lanes:
                    lane.broker_down_until = max(lane.broker_down_until, until)
                    lane.checker.excuse(until)
            case kind:
                self.strike(kind, who, until)

    def _crash(self, who: Process, until: float) -> None:
        who.crash()
        self._silence(who)
        if self._world.redundancy_is_passive and isinstance(who, StandbyReplica):
            self._world.checker.excuse(until + _RESTART_MS)
        self._world.timeline.at(until + _RESTART_MS, None, self._restart, who)
        self.healed_at = max(self.healed_at, until + _RESTART_MS)

    def _lose_machine(self, who: Process, until: float) -> None:
        """Whoever runs there dies, and nothing of what lay there is left."""
        if isinstance(who, StandbyReplica):
            for process in self._world.processes:
                if isinstance(process, StandbyReplica) and process.machine is who.machine and process.alive:
                    self._crash(process, until)
            who.machine.checkpoints.clear()

    def _restart(self, who: Process) -> None:
        if not who.alive and who not in self._world.ended:
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
            if who.session is not None:
                self._world.ensemble.heard(who.session)

    def _silence(self, who: Process) -> None:
        if who.session is not None:
            self._world.ensemble.silent(who.session)
