"""Carries out the steps of a publication that wait for Kafka, one at a time, on a thread of their own."""

import queue
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from confluent_kafka import KafkaException

from tandem.background import Background
from tandem.core.events import Done, Failed
from tandem.kafka.errors import (
    FencingTimeoutError,
    NotAllowedError,
    ProducerLostError,
    ReadTimeoutError,
    TransactionTooSlowError,
)
from tandem.kafka.fencing import Fencer
from tandem.kafka.watching import Troubles
from tandem.logs import bound, get_logger
from tandem.protocol.actions import Fence, Outcome, Publish, ReadToEnd, RenewProducer, Step
from tandem.protocol.values import EpochRange
from tandem.replica.epoch_writer import EpochWriter
from tandem.replica.failure import FirstFailure
from tandem.replica.reader import LogReader
from tandem.replica.rows import EpochRows
from tandem.replica.sinks import TRY_AGAIN, UNTAKEN

_log = get_logger(__name__)

OUTPUT = "output"
"""What is refused, for its reader."""
_TIMEOUT_S = 10.0
_PAUSE_S = 0.5
_REST_S = 5.0

_COMES_BACK = (FencingTimeoutError, NotAllowedError, ReadTimeoutError, ProducerLostError, KafkaException)
"""Kafka is away, or refuses: the same step may succeed later."""


@dataclass(frozen=True, slots=True)
class Job:
    """A step for the head's epoch; `rows` and `epoch`: of what is to be published."""

    step: Step
    head: int
    rows: EpochRows | None = None
    epoch: EpochRange | None = None


@dataclass(frozen=True, slots=True)
class StepPorts:
    """What steps are carried out with."""

    fencer: Fencer
    writer: EpochWriter
    troubles: Troubles
    on_published: Callable[[int, str], None] = lambda _epoch, _digest: None


class Steps(Background):
    """The thread; `report` is given the end of each step, `failure` what ends the thread.

    `ports.on_published` : called with each epoch that this replica has published, and its digest.
    """

    def __init__(
        self, ports: StepPorts, reader: LogReader, report: Callable[[Done | Failed], None], failure: FirstFailure
    ) -> None:
        super().__init__("steps")
        self._ports = ports
        self._reader = reader
        self._report = report
        self._failure = failure
        self._jobs: queue.SimpleQueue[Job | str | None] = queue.SimpleQueue()
        self._expected = ""
        self._again_s: float | None = None  # when to connect once more what could not be

    def stop(self, timeout_s: float = 15.0) -> None:
        """Finish what is under way."""
        super().stop()
        self._jobs.put(None)
        self.wait(timeout_s)

    def do(self, job: Job) -> None:
        """Carry out a step, soon."""
        if isinstance(job.step, Fence):
            self._expected = ""  # it takes what is connected
        self._jobs.put(job)

    def expect(self, owner: str) -> None:
        """Connect what is needed to fence `owner`, which has claimed an epoch. By the thread that calls `do`.

        An owner claims one epoch after the other: the thread is not woken again for the one that it was woken for last,
        but every few seconds while that fails.
        """
        if owner != self._expected or (self._again_s is not None and time.monotonic() >= self._again_s):
            self._expected, self._again_s = owner, None
            self._jobs.put(owner)

    def _run(self) -> None:
        try:
            while (job := self._next()) is not None and not self._stopped.is_set():
                if isinstance(job, str):
                    self._connect(partial(self._ports.fencer.expect, job))
                    self._connect(self._reader.expect)
                else:
                    with bound(epoch=job.head):
                        self._carry_out(job)
                    if self._jobs.empty():
                        self._ports.writer.ready()
        except BaseException as error:
            self._failure.put(error)

    def _next(self) -> Job | str | None:
        while True:
            try:
                return self._jobs.get(timeout=_REST_S)
            except queue.Empty:
                self._ports.writer.rest()

    def _connect(self, connect: Callable[[], None]) -> None:
        """What is connected beforehand only saves time: a step that needs it connects by itself."""
        try:
            connect()
        except Exception as error:
            _log.warning("not_connected_beforehand", reason=repr(error), effect="a take-over may take a second longer")
            self._again_s = time.monotonic() + _REST_S

    def _carry_out(self, job: Job) -> None:
        try:
            outcome = self._do(job)
        except _COMES_BACK as error:
            _log.warning("action_retried", action=type(job.step).__name__, reason=str(error))
            self._ports.troubles.failed_as(OUTPUT, str(error))
            if isinstance(error, NotAllowedError):
                self._stopped.wait(_PAUSE_S)  # the brokers say so at once each time
            self._report(Failed(job.step, error))
        else:
            self._report(Done(job.step, outcome))

    def _do(self, job: Job) -> Outcome | None:
        ports = self._ports
        match job.step:
            case Fence(owners):
                for owner in owners:
                    with ports.writer.metrics.phase("fence"):
                        ports.fencer.fence(owner, _TIMEOUT_S)
                    ports.writer.metrics.fences.inc()
            case ReadToEnd():
                began_s = time.monotonic()
                self._reader.read_to_end(_TIMEOUT_S)
                _log.info("read_to_end", ms=round((time.monotonic() - began_s) * 1000, 1))
            case RenewProducer():
                ports.writer.renew(_TIMEOUT_S)
            case Publish():
                return self._publish(job.step, job)
        return None

    def _publish(self, step: Publish, job: Job) -> Outcome:
        if job.rows is None or job.epoch is None:
            raise ValueError(
                f"epoch {step.epoch} is to be published, but its cut was not read, or its rows are not here"
            )
        ports = self._ports
        try:
            outcome = ports.writer.write(step, job.rows, job.epoch)
        except TRY_AGAIN as error:
            # Who owns the epoch may be another one by then: the log is read to its end before it is tried again.
            _log.warning("sink_retried", reason=str(error))
            self._stopped.wait(_PAUSE_S)
            # What a user's function has done before it asked for another try is not known.
            return Outcome.NOTHING_SENT if isinstance(error, UNTAKEN) else Outcome.UNKNOWN
        except TransactionTooSlowError as error:
            if words := ports.troubles.words:
                raise TransactionTooSlowError(f"epoch {step.epoch} cannot be published: {words}") from error
            raise
        if outcome is Outcome.COMMITTED:
            ports.on_published(step.epoch, job.rows.digest)
        elif outcome is Outcome.UNKNOWN and ports.writer.failures:
            ports.troubles.failed(OUTPUT, ports.writer.failures)
            if ports.troubles.words:
                self._stopped.wait(_PAUSE_S)  # Kafka has refused for a while, and at once each time
        return outcome
