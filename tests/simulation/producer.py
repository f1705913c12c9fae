"""A replica's producer: a transaction step by step, with whatever may happen between two steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from simulation.kafka import Partition
from tandem.protocol.actions import Outcome
from tandem.protocol.values import Marker

if TYPE_CHECKING:
    from simulation.process import Process
    from simulation.world import World

Rows = Sequence[tuple[Partition, Sequence[Any]]]
Done = Callable[[Outcome], None]


class Initialisation:
    """`init_transactions` of an id: tried until it succeeds, as often as its transaction is still being ended."""

    def __init__(self, process: Process, tid: str, by: str, done: Callable[[int], None]) -> None:
        self._process, self._tid, self._by, self._done = process, tid, by, done
        self._world: World = process.world
        self._answered = False
        self._try()

    def _try(self) -> None:
        lost = self._world.rng.random() < 0.5 * self._world.schedule.slow_messages
        self._process.ask(self._world.coordinator.initialise, (self._tid, self._by), self._answer, lost)
        if lost:
            self._world.timeline.after(self._world.schedule.commit_timeout_ms, self._process, self._try)

    def _answer(self, number: int | None) -> None:
        if self._answered:
            return
        hasty = self._world.deviation.fences_hastily and self._by != self._tid
        if number is None and not hasty:
            self._world.timeline.after(self._world.schedule.fence_ms, self._process, self._try)
            return
        self._answered = True
        self._done(number or 0)


class TransactionalProducer:
    """Exactly once. `number` is that of its last initialisation; whoever initialises its id later has fenced it."""

    def __init__(self, process: Process, tid: str) -> None:
        self._process, self._tid = process, tid
        self._world: World = process.world
        self._number: int | None = None
        self._waiting: list[Callable[[], None]] = []

    def initialise(self, done: Callable[[], None]) -> None:
        """(Re)create the producer."""
        self._number = None

        def initialised(number: int) -> None:
            self._number = number
            done()
            while self._waiting:
                self._waiting.pop()()

        Initialisation(self._process, self._tid, self._tid, initialised)

    def publish(self, rows: Rows, marker: Marker, done: Done) -> None:
        """Rows, then the marker, then the commit."""
        if self._number is None:
            self._waiting.append(lambda: self.publish(rows, marker, done))
            return
        steps: list[Rows] = [rows, [(self._world.commits, [marker])]]
        self._produce(steps, marker, done)

    def _produce(self, steps: list[Rows], marker: Marker, done: Done) -> None:
        def answer(taken: bool) -> None:
            if not taken:
                self._world.timeline.after(5.0, self._process, self._produce, steps, marker, done)
                return
            self._world.reached("rows sent" if len(steps) > 1 else "marker sent", self._process)
            self._produce(steps[1:], marker, done)

        if steps:
            self._process.ask(self._world.coordinator.produce, (self._tid, self._number, steps[0]), answer)
        else:
            self._world.timeline.after(self._world.delay(), self._process, self._commit, marker, done)

    def _commit(self, marker: Marker, done: Done) -> None:
        assert self._number is not None
        Commit(self._process, self._tid, self._number, marker, done)


class Commit:
    """One `commit_transaction`: the request may get lost, come late, or its answer get lost; then it times out."""

    def __init__(self, process: Process, tid: str, number: int, marker: Marker, done: Done) -> None:
        self._process, self._marker, self._done = process, marker, done
        self._producer = (tid, number)
        self._world = world = process.world
        self._ended = False
        world.coordinator.commit_sent(tid, number)
        world.tell(process, "commits", marker)
        trouble = world.rng.random() < world.schedule.unknown
        fate = world.rng.choice(("request lost", "request late", "answer lost")) if trouble else ""
        timeout = world.schedule.commit_timeout_ms
        if fate == "request late":
            world.timeline.after(world.rng.uniform(0.5, 2.5) * timeout, None, self._decide)
        elif fate != "request lost":
            process.ask(self._decide, (), self._answer, lost=bool(fate))
        world.timeline.after(timeout, process, self._end, Outcome.UNKNOWN)
        world.reached("commit sent", process)

    def _decide(self) -> bool:
        committed = self._world.coordinator.commit(*self._producer)
        if committed:
            self._world.reached("decided", self._process)
            self._committed = True
        elif self._world.coordinator.is_fenced(*self._producer):
            self._world.reached("a fenced owner tried to commit")
            if self._process.was_just_stopped:
                self._world.reached("a zombie came back and tried to commit")
        return committed

    _committed = False

    def _answer(self, committed: bool) -> None:
        self._end(Outcome.COMMITTED if committed else Outcome.FENCED)

    def _end(self, outcome: Outcome) -> None:
        if self._ended:
            return
        self._ended = True
        if outcome is Outcome.UNKNOWN:
            self._world.reached(f"unknown outcome, {'' if self._committed else 'not '}committed")
        self._world.tell(self._process, f"epoch {self._marker.epoch}, attempt {self._marker.attempt}:", outcome.value)
        self._done(outcome)


class PlainProducer:
    """At least once and at most once: rows, then the marker when the rows are acknowledged; no transaction."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._world: World = process.world

    def initialise(self, done: Callable[[], None]) -> None:
        """(Re)create the producer."""
        self._world.timeline.after(0.1, self._process, done)

    def publish(self, rows: Rows, marker: Marker, done: Done) -> None:
        """Rows, then the marker."""
        world = self._world
        steps: list[Rows] = [rows, [(world.commits, [marker])]]
        if world.deviation.marks_first:
            steps.reverse()

        def append(some: Rows) -> None:
            for partition, records in some:
                partition.append(records, None)
            world.wake_all()

        def answer(_: None) -> None:
            steps.pop(0)
            if steps:
                produce()
            else:
                done(Outcome.COMMITTED)

        def produce() -> None:
            lost = world.rng.random() < world.schedule.unknown
            self._process.ask(append, (steps[0],), answer, lost)
            if lost:
                world.timeline.after(world.schedule.commit_timeout_ms, self._process, done, Outcome.UNKNOWN)

        produce()
