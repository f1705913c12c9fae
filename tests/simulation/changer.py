"""Who changes the number of lanes: the steps of the product's `local.lane_change` in its order, with its pure decisions.

The product reads, claims, fences and writes through `local.lane_logs`; here that is done on the simulated servers, one
request after the other. What follows from what was read, `protocol.lanes` says in both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simulation.kafka import LogInTransaction
from simulation.keyed import divided
from simulation.process import Process
from simulation.tasks import Task
from tandem.protocol.decisions import Decisions
from tandem.protocol.lanes import (
    Boundary,
    LogRead,
    MovedLane,
    ends_of,
    is_taken_over,
    marker,
    positions,
    taking_over,
    unpublished_owners,
)
from tandem.protocol.values import Offsets

if TYPE_CHECKING:
    from simulation.changing import Change
    from simulation.lane_worlds import LaneWorld

WRITER = "job.lanes"
_AGAIN_MS = 60.0
_FAR = 1_000_000


class RefusedChangeError(Exception):
    """Nothing has changed. `starts`: the lanes have to run once more before it can be tried again."""

    def __init__(self, why: str, starts: bool = False) -> None:
        super().__init__(why)
        self.starts = starts


class Changer(Process):
    """Tries until it is done, or finds that somebody else has done it. One that dies begins again."""

    def __init__(self, change: Change, name: str) -> None:
        super().__init__(change.before[0], name)
        self._change = change
        self._task: Task

    def start(self) -> None:
        super().start()
        self._stop = self._change.stops
        self._begin()

    def follow(self) -> bool:
        return True

    def think(self) -> None:
        """It only does its task."""

    def _begin(self) -> None:
        self.world.reached("change begun", self)
        if self.alive:
            Task(self, self._run, self._ended)

    def _ended(self, refused: RefusedChangeError | None) -> None:
        self.world.tell(self, "is done" if refused is None else f"is refused: {refused}")
        if refused is None:
            self._change.done()
            return
        self.world.reached("a change was refused" if not refused.starts else "a change lacked a state")
        if self._stop == self._change.stops and refused.starts:
            self._change.go_on_as_before()
        if self._stop != self._change.stops:
            self.crash()
            return
        self.world.timeline.after(_AGAIN_MS, self, self._begin)

    def _run(self, task: Task) -> RefusedChangeError | None:
        self._task = task
        try:
            self._try()
        except RefusedChangeError as refused:
            return refused
        return None

    # The steps -------------------------------------------------------------------------------------------------------

    def _try(self) -> None:
        change = self._change
        without = self.world.deviation.changes_lanes
        before = self._call("lanes looked at", self._lanes)
        if before == change.lanes:
            self.world.reached("a change was found to be made")
            return
        self._writer = self._initialised()
        logs = [self._read(world) for world in change.before]
        for log in logs:
            if log.config.lanes not in (0, len(change.before)):
                raise RefusedChangeError("more than spec.lanes has changed")
        ends = Offsets((tp, offset) for log in logs for tp, offset in log.ends.items())
        states = {
            lane: self._call("state found", lambda lane=lane, log=log: change.state_of(lane, log.published))
            for lane, log in enumerate(logs)
        }
        known = [self._call("new log read", lambda name=name: self._known(name)) for name in change.names]
        boundary = Boundary.behind([*(log.decisions for log in logs), *(decisions for decisions, _ in known)])
        moved = self._moved(logs, ends, boundary)
        at = {name: end for name, (_, end) in zip(change.names, known, strict=True)}
        at |= {world.job: log.end for world, log in zip(change.before, logs, strict=True)}
        for name, one in moved:
            if one.lane is not None:
                state = divided(states, one.lane, change.lanes, len(change.before), without == "its keys")
                self._call("savepoint kept", lambda name=name, one=one, state=state: change.keep(name, one, state))
        self._write(moved, at, boundary, max(int(1e6 + self.now_ms), *(log.time_ms for log in logs)))

    def _lanes(self) -> int:
        config = decisions_of(self._change.log(self._change.before[0].job).records).config
        return config.lanes if config is not None and config.lanes else len(self._change.before)

    def _known(self, name: str) -> tuple[Decisions, int]:
        log = self._change.log(name)
        return decisions_of(log.records), log.end

    def _read(self, world: LaneWorld) -> LogRead:
        """See `LaneLogs.read`."""
        without = world.deviation.changes_lanes
        before = self._call("owners looked at", lambda: self._log_of(world))
        owners = unpublished_owners(before.decisions, before.published) - {WRITER}
        for claim in () if without == "claims" else taking_over(before.decisions, before.published, WRITER):
            world.reached("a change took over what was claimed")
            self._call("claims sent", lambda claim=claim: world.log.append(claim))
        for owner in () if without == "fences" else sorted(owners):
            self._call("owner fenced", lambda owner=owner: self._fence(world, owner), again=True)
        log = self._call("log read", lambda: self._log_of(world))
        checks = without not in ("claims", "fences")
        if checks and not is_taken_over(log.decisions, log.published, WRITER, owners):
            raise RefusedChangeError("something of the job still runs")
        return log

    def _log_of(self, world: LaneWorld) -> LogRead:
        decisions, published = decisions_of(world.log.records), world.last_marker()
        if decisions.config is None:
            raise RefusedChangeError("a lane has not run yet", starts=True)
        return LogRead(decisions, decisions.config, published, ends_of(decisions, published), world.log.end)

    def _fence(self, world: LaneWorld, owner: str) -> bool:
        done = world.coordinator.initialise(owner, WRITER) is not None
        if done and any(one.alive and owner.startswith(world.id_of(one.name)) for one in world.processes):
            world.reached("a change fenced an owner that lingered")
        return done

    def _moved(self, logs: list[LogRead], ends: Offsets, boundary: Boundary) -> list[tuple[str, MovedLane]]:
        """See `_Change._moved`."""
        change, digest = self._change, logs[0].config.digest
        saved = f"{self.name}.{self.life}-generation-{boundary.generation}-epoch-{boundary.epoch}"
        found = [
            (name, MovedLane(lane, change.lanes, digest, positions(lane, change.lanes, [ends]), savepoint=saved))
            for lane, name in enumerate(change.names)
        ]
        gone = [world.job for world in change.before if world.job not in change.names]
        return found + [(name, MovedLane(None, change.lanes, digest, Offsets())) for name in gone]

    def _write(self, moved: list[tuple[str, MovedLane]], at: dict[str, int], boundary: Boundary, time_ms: int) -> None:
        """See `LaneLogs.write`."""
        change = self._change
        written: dict[str, LogInTransaction] = {}
        for name, one in moved:
            written[name] = LogInTransaction(change.log(name))
            proposals = [one.config(boundary, WRITER)]
            proposals += [] if one.lane is None else [one.cut(boundary, WRITER, time_ms)]  # type: ignore[list-item]
            self._produce("lane written", written[name], proposals)
        for name, _ in moved:
            is_own = written[name].first == at[name] or self.world.deviation.changes_lanes == "known ends"
            if not is_own or written[name].first < 0:
                raise RefusedChangeError("something of the job still writes")
        at = {name: one.first for name, one in written.items()}
        for name, one in moved:
            if one.lane is not None:
                said = marker(boundary, f"{name}.lanes", at[name], at[name] + 1)
                self._produce("markers written", change.commits(name), [said])
        if not self._call("change sent", lambda: self._commit(moved, boundary, at)):
            raise RefusedChangeError("fenced")
        if self.world.rng.random() < self.world.schedule.unknown:
            raise RefusedChangeError("the answer got lost")

    def _commit(self, moved: list[tuple[str, MovedLane]], boundary: Boundary, at: dict[str, int]) -> bool:
        if not self.world.coordinator.commit(WRITER, self._writer):
            self.world.reached("a change was fenced")
            return False
        self._change.decided(moved, boundary, at)
        self.world.reached("change decided", self)
        return True

    # Servers ---------------------------------------------------------------------------------------------------------

    def _call(self, step: str, what: Callable[[], Any], again: bool = False) -> Any:
        """Have a server do something; `again`: until that is true."""

        def asked(_: bool) -> Any:
            if self.world.timeline.now < self.world.broker_down_until:
                return RefusedChangeError("the brokers are away")
            try:
                return what()
            except RefusedChangeError as refused:
                return refused

        for number in range(_FAR):
            answer = self._task.call(step if not number else "asks again", asked)
            if isinstance(answer, RefusedChangeError):
                raise answer
            if answer or not again:
                return answer
        return None

    def _initialised(self) -> int:
        numbers: list[int] = []

        def initialise() -> bool:
            number = self.world.coordinator.initialise(WRITER, WRITER)
            numbers.extend([] if number is None else [number])
            return number is not None

        self._call("writer initialised", initialise, again=True)
        return numbers[-1]

    def _produce(self, step: str, where: Any, records: list[Any]) -> None:
        self._call(step, lambda: self.world.coordinator.produce(WRITER, self._writer, [(where, records)]), again=True)


def decisions_of(records: list[Any]) -> Decisions:
    """What a log has decided."""
    found = Decisions()
    for offset, proposal in enumerate(records):
        found.apply(proposal, offset)
    return found
