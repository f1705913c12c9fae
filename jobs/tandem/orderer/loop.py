"""The orderer's loop: read the log, keep the pace, propose the next cut."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tandem.kafka.appender import ProposalAppender
from tandem.kafka.tail import LogTail, Record
from tandem.logs import get_logger
from tandem.metrics import OrdererMetrics
from tandem.orderer.inputs import InputWatch
from tandem.orderer.sizes import InputSizes
from tandem.protocol.codec import CodecError, decode_proposal
from tandem.protocol.cutting import next_ends
from tandem.protocol.decisions import Decisions, Verdict
from tandem.protocol.pace import Pace
from tandem.protocol.values import Claim, Cut, Positions, Progress, TopicIds
from tandem.waits import Task

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Clocks:
    """Where time comes from: monotonic for durations, wall for the time of epochs; both ms."""

    monotonic_ms: Callable[[], float]
    wall_ms: Callable[[], int]


@dataclass(frozen=True, slots=True)
class OrdererSettings:
    """How long to wait for news at most: `tick_s` while a cut is due, `watching_tick_s` if it is another's to make.

    `repropose_ms`: when a cut that the log does not show is repeated. `look_ms`: how often a leader looks how much input
    waits while no cut is due.
    """

    name: str
    max_records_per_epoch: int
    tick_s: float = 0.005
    watching_tick_s: float = 0.02
    idle_tick_s: float = 0.05
    repropose_ms: float = 500.0
    look_ms: float = 1_000.0


class OrdererLoop:
    """One orderer: `step` is called until the process is asked to stop."""

    def __init__(
        self,
        settings: OrdererSettings,
        decisions: Decisions,
        pace: Pace,
        tail: LogTail,
        appender: ProposalAppender,
        inputs: InputWatch,
        sizes: InputSizes,
        leading: Callable[[], bool],
        clocks: Clocks,
        metrics: OrdererMetrics,
        task: Task | None = None,
    ) -> None:
        self._task = task or Task()
        self._settings = settings
        self._decisions = decisions
        self._pace = pace
        self._tail = tail
        self._appender = appender
        self._inputs = inputs
        self._sizes = sizes
        self._leading = leading
        self._clocks = clocks
        self._metrics = metrics
        metrics.epoch.set(decisions.last_epoch)  # there may be no other for a long time
        self._random = random.SystemRandom()
        last = decisions.epoch_range(decisions.last_epoch)
        self._time_ms = 0 if last is None else last.time_ms
        self._proposed: tuple[int, float] = (-1, -float("inf"))
        self._looked_ms = -float("inf")

    def step(self) -> None:
        """Wait shortly for news of the log, take it in, and propose a cut if one is due.

        Raises `LostInputError`, `MissingTopicError`.
        """
        leads = self._leading()
        leading = leads or self._pace.acts
        due = self._pace.is_due
        self._metrics.leading.set(leads)
        for record in self._tail.poll(self._tick_s(due, leading)):
            self._take(record)
        if self._decisions.config is None:
            return
        now = self._clocks.monotonic_ms()
        self._inputs.refresh(self._decisions.last_ends, now, self._decisions.topic_ids)
        self._metrics.held(self._inputs.held)
        if self._pace.is_due and not self._is_proposed(now):
            self._propose_if_wanted(now, leading)
        else:
            self._sizes.meanwhile(now)
            if leads and now - self._looked_ms >= self._settings.look_ms:
                self._input_ends(now)

    def _tick_s(self, due: bool, leading: bool) -> float:
        if not due:
            return self._settings.idle_tick_s
        return self._settings.tick_s if leading else self._settings.watching_tick_s

    def _take(self, record: Record) -> None:
        try:
            proposal = decode_proposal(record.value)
        except CodecError as error:
            _log.error("foreign_record", topic=record.topic, offset=record.offset, reason=str(error))
            return
        verdict = self._decisions.apply(proposal, record.offset)
        now = self._clocks.monotonic_ms()
        match proposal:
            case Cut() if verdict is Verdict.ACCEPTED:
                self._pace.cut(proposal.epoch, now, proposal.proposer == self._settings.name)
                self._time_ms = max(self._time_ms, proposal.time_ms)
                self._decisions.forget_before(proposal.epoch)
                self._metrics.cut(proposal, self._settings.name)
                self._task.ends()
            case Claim() if verdict is Verdict.ACCEPTED:
                self._pace.claimed(proposal.epoch, now)
            case Progress():
                self._pace.progress(proposal.replica, proposal.epoch, proposal.epoch_ms, now)

    def _propose_if_wanted(self, now: float, leading: bool) -> None:
        last = self._decisions.last_ends
        if not self._pace.wants_look(now, leading):
            return
        available = self._input_ends(now)
        if available is None:
            self._waits("Kafka, which does not say where the inputs end")
            return
        if not self._inputs.are_same(self._decisions.topic_ids, now):
            self._waits("Kafka, which does not say whether the inputs are the topics that they were")
            return
        ends = next_ends(last, available, self._settings.max_records_per_epoch, self._decisions.last_epoch + 1)
        if ends.records_since(last) > 0 or self._pace.wants_empty(now):
            self._pace.input_seen(now)
        if self._pace.wants_cut(now, leading):
            self._propose(last, ends, available, now)
        elif ends.records_since(last) <= 0:
            self._task.ends()

    def _propose(self, last: Positions, ends: Positions, available: Positions, now: float) -> None:
        epoch = self._decisions.last_epoch + 1
        bounded = self._sizes.bounded(last, ends, epoch, now, available)
        if bounded.records_since(last) <= 0 < ends.records_since(last):
            self._waits("records of the inputs, which are counted before they are cut")
            return  # nothing is counted yet
        self._time_ms = max(self._time_ms, self._clocks.wall_ms())
        seed = self._random.getrandbits(63)
        self._appender.append(Cut(epoch, bounded, self._time_ms, seed, self._settings.name, self._topic_ids()))
        self._waits("its proposal in the ordering log")
        self._proposed = (epoch, now)
        self._metrics.proposed.inc()

    def _waits(self, step: str) -> None:
        self._task.begins(f"the cut of epoch {self._decisions.last_epoch + 1}", step)

    def _topic_ids(self) -> TopicIds:
        """What the log does not say at its beginning, because it is older."""
        config = self._decisions.config
        return () if config is None or config.topic_ids else self._decisions.topic_ids or self._inputs.topic_ids

    def _input_ends(self, now: float) -> Positions | None:
        """Where the inputs end, and thereby how much is in no epoch yet; None while Kafka does not answer."""
        available, self._looked_ms = self._inputs.ends(), now
        if available is not None:
            self._metrics.lag.set(self._inputs.waiting(available, self._decisions.last_ends))
        return available

    def _is_proposed(self, now: float) -> bool:
        epoch, at = self._proposed
        return epoch == self._decisions.last_epoch + 1 and now - at < self._settings.repropose_ms
