"""The loop of a replica that computes: one thread feeds the core with one event after the other, and hands on its effects.

Who waits does so on a thread of its own, and reports with an event: the reader of the logs, the steps, the engine.
"""

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from tandem.coordination.slots import Slots
from tandem.core.effects import (
    Answer,
    Append,
    Ask,
    Begun,
    CatchingUp,
    CaughtUp,
    Compared,
    Compute,
    Effect,
    Exit,
    Expect,
    HandedOver,
    Marked,
    Report,
    SeekSuccessor,
    TellRole,
    TookOver,
)
from tandem.core.events import Computed, ReplicaEvent, Tick
from tandem.core.replica import ReplicaCore
from tandem.engine.interface import StoppedError
from tandem.kafka.appender import ProposalAppender
from tandem.logs import get_logger
from tandem.protocol.actions import Publish, Step
from tandem.protocol.transaction_time import publication_ms
from tandem.replica.awaited import awaited
from tandem.replica.failure import FirstFailure
from tandem.replica.handed import HandedEpochs
from tandem.replica.reader import LogReader
from tandem.replica.rows import EpochRows
from tandem.replica.steps import Job, Steps
from tandem.topics.declared import LogTopics
from tandem.waiting import Deadline
from tandem.waits import Task

_log = get_logger(__name__)

_TICK_S, _PENDING_TICK_S = 0.05, 0.005


@dataclass(frozen=True, slots=True)
class Ports:
    """What the core's effects are carried out with.

    `logs` : the ordering topic and the commits topic, by name.
    `on_marked` : called with each marker that was read. `on_compared`: with each epoch that was compared with its marker.
    `task` : says what the publication of an epoch waits for that this replica has computed.
    """

    logs: LogTopics
    appender: ProposalAppender
    on_marked: Callable[[Marked], None]
    on_compared: Callable[[int], None]
    task: Task = Task()  # noqa: RUF009


class Loop:
    """Connect the parts with `connect`, then `start` it. Its other methods may be called from any thread."""

    def __init__(self, core: ReplicaCore, ports: Ports, failure: FirstFailure) -> None:
        self.core = core
        self._ports = ports
        self._failure = failure
        self._inbox: queue.SimpleQueue[ReplicaEvent | None] = queue.SimpleQueue()
        self._rows: dict[int, EpochRows] = {}
        self._is_stepping = False
        self._is_finished = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="loop", daemon=True)
        self._reader: LogReader
        self._steps: Steps
        self._epochs: HandedEpochs
        self.slots: Slots | None = None
        """The job's slots, once this replica takes part in them."""

    def connect(self, reader: LogReader, steps: Steps, epochs: HandedEpochs) -> None:
        """Who posts to this loop, and is given its effects."""
        self._reader, self._steps, self._epochs = reader, steps, epochs

    def join(self, slots: Slots) -> None:
        """This replica takes part in the job's slots; that another one has ended is news at once, and if it has already."""
        self.slots = slots
        slots.on_ended = lambda: self.post(slots.seen())
        slots.on_ended()

    def start(self) -> None:
        """Start all threads."""
        for part in (self._steps, self._thread, self._reader):
            part.start()

    def finish(self, timeout_s: float = 15.0) -> None:
        """Take in nothing any more, and finish the step under way: from then on it claims and publishes nothing."""
        if self._is_finished:
            return
        self._is_finished, deadline = True, Deadline(timeout_s)
        self._ended.set()
        self._inbox.put(None)
        self._epochs.stop()
        self._steps.stop(timeout_s)
        if self._thread.is_alive():
            self._thread.join(deadline.remaining_s)

    def stop(self) -> None:
        """Finish what is under way, if that was not done before, and stop."""
        self.finish()
        self._reader.stop()
        self._ports.appender.close()

    def has_ended(self, timeout_s: float) -> bool:
        """Whether the core has ended, within that time."""
        return self._ended.wait(timeout_s)

    def post(self, event: ReplicaEvent) -> None:
        """Something happened."""
        self._inbox.put(event)

    @property
    def is_behind(self) -> bool:
        """Whether more is known to stand in the logs than the core has taken in."""
        return self._reader.is_behind or not self._inbox.empty() or self._is_stepping

    def rows_of(self, epoch: int) -> EpochRows | None:
        """The rows that this replica computed, while they may still be needed."""
        return self._rows.get(epoch)

    def computed(self, rows: EpochRows) -> None:
        """Take over an epoch's rows from the engine. Raises `StoppedError`."""
        if self._ended.is_set():
            raise StoppedError
        self._rows[rows.epoch] = rows
        work_ms = publication_ms(rows.table.num_rows, rows.table.get_total_buffer_size())
        self.post(Computed(rows.epoch, rows.digest, rows.inputs, work_ms))

    def _run(self) -> None:
        try:
            ticked_s = said_s = 0.0
            while not self._ended.is_set():
                tick_s = _PENDING_TICK_S if self.core.is_pending else _TICK_S
                with suppress(queue.Empty):
                    self._take(self._inbox.get(timeout=tick_s))
                now_s = time.monotonic()
                if now_s - ticked_s >= tick_s:
                    ticked_s = now_s
                    self._step(Tick(not self.is_behind))
                if now_s - said_s >= _TICK_S:
                    said_s = now_s
                    self._ports.appender.serve()
                    self._say()
        except BaseException as error:
            self._failure.put(error)
        finally:
            self._ended.set()
            self._epochs.stop()
            self._ports.task.ends()

    def _take(self, event: ReplicaEvent | None) -> None:
        if event is None:
            return
        self._is_stepping = True
        self._step(event)
        self._is_stepping = False
        if self._ended.is_set():
            return  # the rows that differ are still to be compared
        if isinstance(event, Computed) and event.epoch < self.core.publication.head:
            self._rows.pop(event.epoch, None)

    def _step(self, event: ReplicaEvent) -> None:
        for effect in self.core.step(event, time.monotonic() * 1000):
            self._carry_out(effect)

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Append(proposal):
                self._ports.appender.append(proposal)
            case Compute(epoch):
                self._epochs.hand(epoch)
            case Ask() | Answer():
                self._epochs.say(effect)
            case Marked(marker):
                self._rows.pop(marker.epoch, None)
                self._ports.on_marked(effect)
            case Compared(epoch):
                self._ports.on_compared(epoch)
            case Expect(owner):
                self._steps.expect(owner)
            case Exit(error):
                if error is not None:
                    self._failure.put(error)
                self._ended.set()
            case TellRole(role):
                if self.slots is not None:
                    self.slots.tell(role)
            case SeekSuccessor():
                if self.slots is not None:
                    self.slots.leave()
            case TookOver() | Begun() | CatchingUp() | CaughtUp() | HandedOver():
                _report(effect)
            case _:
                self._steps.do(self._job(effect))

    def _job(self, step: Step) -> Job:
        head = self.core.publication.head
        if not isinstance(step, Publish):
            return Job(step, head)
        return Job(step, step.epoch, self._rows.get(step.epoch), self.core.decisions.epoch_range(step.epoch))

    def _say(self) -> None:
        """What the oldest epoch waits for, if this replica has computed it."""
        head = self.core.publication.head
        if head in self._rows:
            logs = self._ports.logs
            step = awaited(self.core.step_under_way, self.core.publication, logs.ordering, logs.commits)
            self._ports.task.begins(f"the publication of epoch {head}", step)
        else:
            self._ports.task.ends()


def _report(effect: Report) -> None:
    match effect:
        case TookOver(claim, before):
            _log.info("took_over", epoch=claim.epoch, attempt=claim.attempt, owner_before=before)
        case Begun(generation, after):
            _log.info("generation_begun", generation=generation, after=after)
        case CaughtUp(epoch, epochs, elapsed_ms):
            _log.info("caught_up", epoch=epoch, epochs=epochs, s=round(elapsed_ms / 1000, 1))
        case HandedOver(to, elapsed_ms):
            _log.info("not_handed_over" if to is None else "handed_over", to=to, ms=round(elapsed_ms))
        case CatchingUp(epoch, found):
            left = None if found.left_s is None else round(found.left_s, 1)
            speed = round(found.epochs_per_s, 1)
            _log.info("catching_up", epoch=epoch, epochs_behind=found.behind, epochs_per_s=speed, seconds_left=left)
