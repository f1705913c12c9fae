"""What an orderer decides: when to look at the inputs, where the next epoch ends, and when to propose its cut again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tandem.core.effects import Append
from tandem.core.events import LogRecord, Tick
from tandem.core.ordering import (
    CountOn,
    CountRecords,
    InputsSeen,
    Leading,
    LookAtInputs,
    OrdererEffect,
    OrdererEvent,
    RecordsCounted,
    WatchInputs,
)
from tandem.protocol.barriers import asks_for_barrier, owed_after_ms
from tandem.protocol.cutting import next_ends
from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.pace import Pace
from tandem.protocol.values import Claim, Cut, LagReport, Offsets, TopicIds


@dataclass(frozen=True, slots=True)
class OrdererSettings:
    """How long to wait for news at most: `tick_ms` while a cut is due, `watching_tick_ms` if another was slow to make it.

    `beats`: a heartbeat generator, which looks each `tick_ms` and not as soon as a record comes. Who leads otherwise
    waits `input_tick_ms` for a record, if none is there to be cut.
    `repropose_ms`: when a cut that the log does not show is repeated. `look_ms`: how often a leader looks how much input
    waits while no cut is due. `barrier_ms`: how far apart common barriers are, of a generation that needs them; 0: there
    are none. `tables`: topics that are read to their end before any record of another.
    """

    name: str
    max_records_per_epoch: int
    tick_ms: float = 5.0
    watching_tick_ms: float = 20.0
    input_tick_ms: float = 20.0
    beats: bool = False
    idle_tick_ms: float = 50.0
    repropose_ms: float = 500.0
    look_ms: float = 1_000.0
    barrier_ms: int = 0
    tables: frozenset[str] = frozenset()


class OrdererState(NamedTuple):
    """What an orderer tells about itself.

    `epoch` : the last that was cut, −1: none. `lag_records` : of the inputs, in no epoch yet. `proposed`, `won` : how many
    cuts it proposed, and the log accepted. `waits_for` : what the next cut is at, and at which step; None: nothing.
    `minutes_ahead` : of this process' clock, the time of the epochs.
    """

    leading: bool = False
    epoch: int = -1
    lag_records: int = 0
    proposed: int = 0
    won: int = 0
    waits_for: tuple[str, str] | None = None
    minutes_ahead: int = 0


_NOTHING: tuple[OrdererEffect, ...] = ()
_CLAIMED = (Verdict.ACCEPTED, Verdict.REPEATED)  # repeated: also of an epoch that is forgotten here


class OrdererCore:
    """One orderer or heartbeat generator. A round is `Leading`, what is new in the log, `Tick`, and answers to its effects.

    `decisions` : as after the last published epoch; from here on the core's own.
    """

    def __init__(self, settings: OrdererSettings, decisions: Decisions, pace: Pace) -> None:
        self._settings, self._pace = settings, pace
        self.decisions = decisions
        """What the log has decided, as far as read."""
        pace.resume(decisions.last_epoch)
        self.state = OrdererState(epoch=decisions.last_epoch)
        """What it tells about itself; another object whenever that changes."""
        self.verdict = Verdict.ADVICE
        """What the rules said of the log's last record."""
        self.proposed: Cut | None = None
        """What it proposed last."""
        self._proposed_ms = -float("inf")
        self._leading = False  # or it cut the last epoch
        self._looked_ms = self._moved_ms = -float("inf")
        self._is_quiet = True  # no epoch was cut or claimed lately: it is not urgent to see that nobody leads
        self._topic_ids: TopicIds = ()
        self._wanted: CountRecords | None = None
        self._is_empty = False  # a cut was due at the last look, and there was nothing to be cut
        last = decisions.epoch_range(decisions.last_epoch)
        self._time_ms = 0 if last is None else last.time_ms
        self._timed_ms: float | None = None  # when an epoch had that time

    @property
    def input_wait_ms(self) -> float:
        """How long to wait for a record of the inputs at most, instead of news of the log; 0: not at all."""
        waits = self._is_empty and self._leading and not self._settings.beats
        return self._settings.input_tick_ms if waits else 0.0

    def wait_ms(self, now_ms: float) -> float:
        """How long to wait for news of the log at most."""
        if not self._pace.is_due:
            return self._settings.idle_tick_ms
        if self._is_quiet and not self._leading:
            return self._settings.watching_tick_ms
        return min(self._pace.due_in_ms(now_ms) or self._settings.tick_ms, self._settings.tick_ms)

    def step(self, event: OrdererEvent, now_ms: float) -> Sequence[OrdererEffect]:
        """Take one event in, and say what is to be done. `now_ms` : of any monotonic clock."""
        match event:
            case Tick():
                return self._tick(now_ms)
            case Leading():
                self._lead(event.leads)
                return _NOTHING
            case LogRecord():
                self._take(event, now_ms)
                return _NOTHING
            case InputsSeen():
                return self._seen(event, now_ms)
            case RecordsCounted():
                return self._counted(event, now_ms)

    # Rules that a test may replace -----------------------------------------------------------------------------------

    def is_lost(self, proposed_ms: float, now_ms: float) -> bool:
        """Whether a cut that was proposed then, and that the log does not show, is to be proposed again."""
        return now_ms - proposed_ms >= self._settings.repropose_ms

    def is_proposed(self, now_ms: float) -> bool:
        """Whether the next cut is on its way already."""
        proposed = self.proposed is not None and self.proposed.epoch > self.decisions.last_epoch
        return proposed and not self.is_lost(self._proposed_ms, now_ms)

    def next_cut(self, now_ms: float) -> tuple[int, Offsets]:  # noqa: ARG002
        """The epoch that is cut next, and where it begins."""
        return self.decisions.last_epoch + 1, self.decisions.last_ends

    def epoch_time_ms(self, wall_ms: int, now_ms: float) -> int:
        """The time of the next epoch: by the clock, but never before that of an earlier one.

        Behind a clock that was ahead, time goes on at half the pace: if it stood still, no barrier would come for so long.
        """
        passed_ms = 0.0 if self._timed_ms is None else max(0.0, now_ms - self._timed_ms)
        return max(wall_ms, self._time_ms + int(passed_ms / 2))

    # Events ----------------------------------------------------------------------------------------------------------

    def _lead(self, leads: bool) -> None:
        self._leading = leads or self._pace.acts
        if leads != self.state.leading:
            self.state = self.state._replace(leading=leads)

    def _take(self, record: LogRecord, now: float) -> None:
        proposal = record.proposal
        self.verdict = self.decisions.apply(proposal, record.offset)
        match proposal:
            case Cut() if self.verdict is Verdict.ACCEPTED:
                mine = proposal.proposer == self._settings.name
                self._pace.cut(proposal.epoch, now, mine)
                self._moved_ms, self._is_quiet = now, False
                self._time_ms, self._timed_ms = max(self._time_ms, proposal.time_ms), now
                self.decisions.forget_before(proposal.epoch)
                self.state = self.state._replace(epoch=proposal.epoch, won=self.state.won + mine, waits_for=None)
            case Claim() if self.verdict in _CLAIMED:
                self._pace.claimed(proposal.epoch, now, takes_over=proposal.attempt > 0)
                self._moved_ms = now
                if proposal.attempt:
                    self._lead(self.state.leading)
            case LagReport():
                self._pace.progress(proposal.replica, proposal.epoch, proposal.epoch_ms, now)

    def _tick(self, now: float) -> Sequence[OrdererEffect]:
        self._is_quiet, self._is_empty = now - self._moved_ms >= self._settings.repropose_ms, False
        config = self.decisions.config
        if config is None or config.lane < 0:  # the log has not begun, or has ended
            return _NOTHING
        watch = WatchInputs(self.decisions.last_ends, self.decisions.topic_ids)
        if self._is_to_cut(now):
            if self._pace.wants_look(now, self._leading):
                # An orderer that does not lead would read the leader's epochs, too: it does so only while nothing is cut.
                return watch, LookAtInputs(*watch, to_cut=True, follow=self._leading or self._is_quiet)
            is_soon = self._leading and self._pace.due_in_ms(now) <= self._settings.tick_ms
            return (watch, CountOn()) if is_soon else (watch,)
        if self.state.leading and now - self._looked_ms >= self._settings.look_ms:
            return watch, CountOn(), LookAtInputs(*watch, to_cut=False)
        return watch, CountOn()

    def _is_to_cut(self, now: float) -> bool:
        return self._pace.is_due and not self.is_proposed(now)

    def _seen(self, seen: InputsSeen, now: float) -> Sequence[OrdererEffect]:
        self._looked_ms = now
        if seen.available is not None and seen.waiting != self.state.lag_records:
            self.state = self.state._replace(lag_records=seen.waiting)
        if not self._is_to_cut(now):
            return _NOTHING  # it looked only to tell how much waits
        if seen.available is None:
            self._waits("Kafka, which does not say where the inputs end")
            return _NOTHING
        if not seen.are_same:
            self._waits("Kafka, which does not say whether the inputs are the topics that they were")
            return _NOTHING
        self._topic_ids = seen.topic_ids
        return self._count(seen.available, now)

    def _count(self, available: Offsets, now: float) -> Sequence[OrdererEffect]:
        epoch, last = self.next_cut(now)
        most, tables = self._settings.max_records_per_epoch, self._settings.tables
        ends = next_ends(last, available, most, epoch, lambda tp: tp.topic in tables)
        has_records = ends.records_since(last) > 0
        self._is_empty = not has_records
        if has_records or self._pace.wants_empty(now, owed_after_ms(self.decisions, self._settings.barrier_ms)):
            self._pace.input_seen(now)
        if self._pace.wants_cut(now, self._leading):
            self._wanted = CountRecords(last, ends, available, epoch)
            return (self._wanted,)
        if not has_records and self.state.waits_for is not None:
            self.state = self.state._replace(waits_for=None)
        return _NOTHING

    def _counted(self, counted: RecordsCounted, now: float) -> Sequence[OrdererEffect]:
        wanted, self._wanted = self._wanted, None
        if wanted is None or wanted.epoch <= self.decisions.last_epoch:
            return _NOTHING  # it was cut meanwhile
        if counted.ends.records_since(wanted.last) <= 0 < wanted.ends.records_since(wanted.last):
            self._waits("records of the inputs, which are counted before they are cut")
            return _NOTHING
        time_ms = self.epoch_time_ms(counted.wall_ms, now)
        if (minutes := (time_ms - counted.wall_ms) // 60_000) != self.state.minutes_ahead:
            self.state = self.state._replace(minutes_ahead=minutes)
        name, topic_ids = self._settings.name, self._unsaid_topic_ids()
        barrier = asks_for_barrier(self.decisions, wanted.epoch, time_ms, self._settings.barrier_ms)
        self.proposed = Cut(wanted.epoch, counted.ends, time_ms, counted.seed, name, topic_ids, barrier)
        self._proposed_ms = now
        self._pace.proposed(leaves=wanted.available.records_since(counted.ends) > 0)
        self.state = self.state._replace(proposed=self.state.proposed + 1)
        self._waits("its proposal in the ordering log")
        return (Append(self.proposed),)

    def _unsaid_topic_ids(self) -> TopicIds:
        """What the log does not say at its beginning, because it is older."""
        config = self.decisions.config
        return () if config is None or config.topic_ids else self.decisions.topic_ids or self._topic_ids

    def _waits(self, step: str) -> None:
        waits_for = (f"the cut of epoch {self.decisions.last_epoch + 1}", step)
        if waits_for != self.state.waits_for:
            self.state = self.state._replace(waits_for=waits_for)
