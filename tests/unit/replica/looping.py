"""A loop whose core does what a test says, and whose ports note what they are given."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from tandem.checkpoint.position import EnginePosition
from tandem.core.effects import Effect, Marked
from tandem.core.events import ReplicaEvent, Seen, Stop, Tick
from tandem.core.replica import ReplicaCore
from tandem.kafka.appender import ProposalAppender
from tandem.protocol.switchover import Role
from tandem.protocol.values import EpochRange, Offsets, Proposal
from tandem.replica.failure import FirstFailure
from tandem.replica.handed import HandedEpochs
from tandem.replica.loop import Loop, Ports
from tandem.replica.reader import LogReader
from tandem.replica.steps import Job, Steps
from tandem.topics.declared import LogTopics

LIMIT_S = 10.0


def cut(epoch: int) -> EpochRange:
    """An epoch without records."""
    return EpochRange(epoch, Offsets(), Offsets(), 1_000 * epoch, 7, 10 * epoch)


@dataclass
class ScriptedCore:
    """Answers the first event that is no tick with `effects`; notes all events but ticks."""

    effects: Sequence[Effect] = ()
    head: int = 3
    seen: queue.SimpleQueue[ReplicaEvent] = field(default_factory=queue.SimpleQueue)
    cuts: Mapping[int, EpochRange] = field(default_factory=lambda: {epoch: cut(epoch) for epoch in range(9)})
    is_pending = False
    step_under_way = None

    @property
    def publication(self) -> ScriptedCore:
        return self

    @property
    def decisions(self) -> ScriptedCore:
        return self

    def owner(self, _epoch: int) -> None:
        """Nobody."""

    def epoch_range(self, epoch: int) -> EpochRange | None:
        return self.cuts.get(epoch)

    def step(self, event: ReplicaEvent, _now_ms: float) -> Sequence[Effect]:
        if isinstance(event, Tick):
            return ()
        self.seen.put(event)
        effects, self.effects = self.effects, ()
        return effects


class NotedSlots:
    """The job's slots as this replica sees them."""

    def __init__(self, *ended: str) -> None:
        self.done: list[object] = []
        self.on_ended: Callable[[], None] = lambda: None
        self._ended = frozenset(ended)

    def seen(self) -> Seen:
        return Seen(ended=self._ended)

    def tell(self, role: Role) -> None:
        self.done.append(role)

    def leave(self) -> None:
        self.done.append("leave")

    def stop(self) -> None:
        self.done.append("stop")


class Looped:
    """The loop, and in `done` what its ports were given, in this order."""

    def __init__(self, *effects: Effect, steps: Steps | None = None) -> None:
        self.done: list[object] = []
        self.is_behind = False
        self.core = ScriptedCore(effects)
        self.failure = FirstFailure()
        self.epochs = HandedEpochs(EnginePosition())
        ports = Ports(LogTopics("ordering", "commits"), cast(ProposalAppender, self), self._marked, self._compared)
        self.loop = Loop(cast(ReplicaCore, self.core), ports, self.failure)
        self.loop.connect(cast(LogReader, self), steps or cast(Steps, self), self.epochs)

    def after(self, event: ReplicaEvent | None = None) -> list[object]:
        """What was done once the loop has carried out what follows from an event."""
        self.loop.start()
        self.loop.post(event or Stop())
        self.core.seen.get(timeout=LIMIT_S)
        self.loop.stop()
        return [one for one in self.done if one != "stop"]

    # What the loop is given ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Of the reader, and of the steps."""

    def stop(self, *_: float) -> None:
        self.done.append("stop")

    def do(self, job: Job) -> None:
        self.done.append(job)

    def expect(self, owner: str) -> None:
        self.done.append(f"expect {owner}")

    def append(self, proposal: Proposal) -> None:
        self.done.append(proposal)

    def serve(self) -> None:
        """Nothing."""

    def close(self) -> None:
        """Of the appender."""

    def _marked(self, marked: Marked) -> None:
        self.done.append(marked)

    def _compared(self, epoch: int) -> None:
        self.done.append(f"compared {epoch}")
