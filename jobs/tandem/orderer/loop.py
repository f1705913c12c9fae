"""The orderer's loop: feeds `OrdererCore` with what the log, the brokers and the election say, and does what it wants."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tandem.core.effects import Append
from tandem.core.events import LogRecord, Tick
from tandem.core.orderer import OrdererCore, OrdererState
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
from tandem.kafka.appender import ProposalAppender
from tandem.kafka.errors import LostInputError
from tandem.kafka.tail import LogTail, Record
from tandem.logs import get_logger
from tandem.orderer.ends import KnownEnds
from tandem.orderer.inputs import InputWatch
from tandem.orderer.sizes import InputSizes
from tandem.protocol.codec import CodecError, decode_proposal
from tandem.status.metrics import OrdererMetrics
from tandem.status.report import HeldInput
from tandem.waits import Task

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Clocks:
    """Where time comes from: monotonic for durations, wall for the time of epochs; both ms."""

    monotonic_ms: Callable[[], float]
    wall_ms: Callable[[], int]


@dataclass(frozen=True, slots=True)
class Ports:
    """What an orderer talks to; `leading`: whether the election says that it leads."""

    tail: LogTail
    appender: ProposalAppender
    inputs: InputWatch
    sizes: InputSizes
    leading: Callable[[], bool]
    clocks: Clocks


class OrdererLoop:
    """One orderer: `step` is called until the process is asked to stop."""

    def __init__(self, core: OrdererCore, ports: Ports, metrics: OrdererMetrics, task: Task | None = None) -> None:
        self._core, self._ports, self._metrics, self._task = core, ports, metrics, task or Task()
        self._monotonic_ms = ports.clocks.monotonic_ms
        self._ends = KnownEnds(ports.inputs.ends, ports.sizes.read_to)
        self._random = random.SystemRandom()
        self._shown = OrdererState()
        self._show(core.state)  # its epoch: there may be no other for a long time

    @property
    def state(self) -> OrdererState:
        """What the orderer tells about itself; any thread may ask."""
        return self._core.state

    @property
    def held(self) -> tuple[HeldInput, ...]:
        """The inputs that an open transaction holds back."""
        return self._ports.inputs.held

    def step(self) -> None:
        """Wait shortly for news of the log or for a record, take it in, and propose a cut if one is due.

        Raises `LostInputError`, `RecreatedTopicError` where that is why, `MissingTopicError`.
        """
        self._feed(Leading(self._ports.leading()), self._monotonic_ms())
        for record in self._ports.tail.poll(self._wait_ms() / 1_000):
            self._take(record)
        with self._cause_found():
            self._feed(Tick(), self._monotonic_ms())
        self._ports.appender.serve()

    def _wait_ms(self) -> float:
        """How long to wait for news of the log, after waiting for a record of the inputs if there is nothing to be cut."""
        input_wait_ms = self._core.input_wait_ms
        if input_wait_ms > 0:
            with self._cause_found():
                if self._ports.sizes.wait(input_wait_ms / 1_000):
                    return 0.0
        return self._core.wait_ms(self._monotonic_ms())

    @contextmanager
    def _cause_found(self) -> Iterator[None]:
        """Input that is lost in the block is named by its cause, if there is one."""
        try:
            yield
        except LostInputError as loss:
            cause = self._ports.inputs.cause_of(loss, self._core.decisions.topic_ids)
            if cause is loss:
                raise
            raise cause from loss

    def _take(self, record: Record) -> None:
        try:
            proposal = decode_proposal(record.value)
        except CodecError as error:
            _log.error("foreign_record", topic=record.topic, offset=record.offset, reason=str(error))
            return
        self._feed(LogRecord(record.offset, proposal, record.timestamp_ms), self._monotonic_ms())

    def _feed(self, event: OrdererEvent, now: float) -> None:
        effects = self._core.step(event, now)
        if self._core.state is not self._shown:
            self._show(self._core.state)
        for effect in effects:
            self._carry_out(effect, now)

    def _carry_out(self, effect: OrdererEffect, now: float) -> None:
        """An answer is of the time `now` at which it was asked for."""
        match effect:
            case Append(proposal):
                self._ports.appender.append(proposal)
            case WatchInputs(last, known):
                self._ports.inputs.refresh(last, now, known)
                self._metrics.held(self.held)
            case LookAtInputs():
                self._feed(self._look(effect, now), now)
            case CountRecords(last, ends, available, epoch):
                counted = self._ports.sizes.bounded(last, ends, epoch, now, available)
                wall_ms, seed = self._ports.clocks.wall_ms(), self._random.getrandbits(63)
                self._feed(RecordsCounted(counted, wall_ms, seed), now)
            case CountOn():
                self._ports.sizes.meanwhile(now)

    def _look(self, look: LookAtInputs, now: float) -> InputsSeen:
        inputs = self._ports.inputs
        if look.follow:
            self._ports.sizes.follow(look.last, inputs.partitions, now)
        available = self._ends.now(look.last, now)
        if available is None:
            return InputsSeen(None)
        are_same = look.to_cut and inputs.are_same(look.known, now)  # after the ends: see there
        return InputsSeen(available, inputs.waiting(available, look.last), are_same, inputs.topic_ids)

    def _show(self, state: OrdererState) -> None:
        before, self._shown = self._shown, state
        self._metrics.show(before, state)
        if state.minutes_ahead and not before.minutes_ahead:
            _log.warning(
                "epochs_ahead_of_clock",
                minutes=state.minutes_ahead,
                remedy="a machine's clock was ahead, or this one's is behind: epochs' time goes at half the pace until "
                "it has caught up; synchronise the clocks of all nodes (NTP)",
            )
        if state.waits_for is None:
            self._task.ends()
        elif state.waits_for != before.waits_for:
            self._task.begins(*state.waits_for)
