"""An orderer's core, and the answers to what it asks."""

from __future__ import annotations

from collections.abc import Sequence

from tandem.core.effects import Append
from tandem.core.events import LogRecord, Tick
from tandem.core.orderer import OrdererCore, OrdererSettings
from tandem.core.ordering import (
    CountRecords,
    InputsSeen,
    Leading,
    LookAtInputs,
    OrdererEffect,
    RecordsCounted,
)
from tandem.protocol.decisions import Decisions
from tandem.protocol.pace import Pace, PaceSettings
from tandem.protocol.timeouts import AdaptiveTimeout
from tandem.protocol.values import Config, Cut, Offsets, Proposal, TopicIds, TopicPartition

INPUT = TopicPartition("in", 0)
MOST_MS = 120.0
AGAIN_MS = 500.0
LOOK_MS = 1_000.0
BARRIER_MS = 5_000
CONFIG = Config(0, "c0ffee", Offsets({INPUT: 0}), "replica-0")
IDS: TopicIds = (("in", "an-id"),)


def at(offset: int) -> Offsets:
    return Offsets({INPUT: offset})


class Bench:
    """A core, and the answers to what it asks: `available` records, of which `counted` are counted (None: all)."""

    def __init__(
        self,
        decisions: Decisions | None = None,
        idle_ms: float | None = None,
        config: Config = CONFIG,
        pace: PaceSettings | None = None,
        beats: bool = False,
    ) -> None:
        self.now_ms, self.wall_ms, self.leads = 0.0, 0, True
        self.available: int | None = 1
        self.same = True
        self.counted: int | None = None
        self.offset = 0
        self.effects: list[OrdererEffect] = []
        settings = OrdererSettings(
            "me", 1_000, repropose_ms=AGAIN_MS, look_ms=LOOK_MS, barrier_ms=BARRIER_MS, beats=beats
        )
        paced = Pace(pace or PaceSettings(idle_epoch_interval_ms=idle_ms), AdaptiveTimeout(20.0, MOST_MS))
        self.core = OrdererCore(settings, decisions or Decisions(), paced)
        self.shows(config)

    def shows(self, *proposals: Proposal) -> None:
        """The log shows these next."""
        for proposal in proposals:
            assert self.core.step(LogRecord(self.offset, proposal), self.now_ms) == ()
            self.offset += 1

    def after(self, ms: float, *shown: Proposal) -> list[Cut]:
        """What is proposed in a round so much later, in which the log shows `shown`."""
        self.now_ms += ms
        self.effects = []
        self.core.step(Leading(self.leads), self.now_ms)
        self.shows(*shown)
        return self._cuts(self.core.step(Tick(), self.now_ms))

    def _cuts(self, effects: Sequence[OrdererEffect]) -> list[Cut]:
        cuts: list[Cut] = []
        for effect in effects:
            self.effects.append(effect)
            match effect:
                case LookAtInputs(last):
                    available = None if self.available is None else at(self.available)
                    waiting = 0 if available is None else available.records_since(last)
                    cuts += self._cuts(self.core.step(InputsSeen(available, waiting, self.same, IDS), self.now_ms))
                case CountRecords():
                    ends = effect.ends if self.counted is None else at(self.counted)
                    cuts += self._cuts(self.core.step(RecordsCounted(ends, self.wall_ms, 5), self.now_ms))
                case Append(Cut() as cut):
                    cuts.append(cut)
        return cuts

    @property
    def waits_for(self) -> str:
        return ": ".join(self.core.state.waits_for or ())
