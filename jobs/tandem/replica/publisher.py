"""The publisher: carries out what `protocol.publication` decides, on a thread of its own.

The engine's thread hands over each epoch's rows with `computed` and sends the claim itself, at once; everything that
waits (transactions, fencing, reading to the end) happens here, so the engine computes the next epoch meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import KafkaException

from tandem.kafka.appender import ProposalAppender
from tandem.kafka.errors import (
    FencingTimeoutError,
    NotAllowedError,
    ProducerLostError,
    ReadTimeoutError,
    TransactionTooSlowError,
)
from tandem.kafka.fencing import Fencer
from tandem.kafka.tail import LogTail, Record
from tandem.kafka.transactions import EpochProducer
from tandem.kafka.watching import Troubles
from tandem.logs import bound, get_logger
from tandem.metrics import ReplicaMetrics
from tandem.protocol.actions import Action, Fence, Outcome, ProposeClaim, Publish, ReadToEnd, RenewProducer
from tandem.protocol.codec import CodecError, decode_marker, decode_proposal
from tandem.protocol.decisions import Verdict
from tandem.protocol.publication import DivergedError, Publication
from tandem.protocol.succession import Succession
from tandem.protocol.transaction_time import TransactionTime
from tandem.protocol.values import Claim, Cut, Marker
from tandem.replica.awaited import awaited
from tandem.replica.epoch_writer import EpochWriter
from tandem.replica.failovers import Failovers
from tandem.replica.progress import CatchUp
from tandem.replica.readiness import Readiness
from tandem.replica.refused import RefusedRows
from tandem.replica.rows import EpochRows
from tandem.waits import Task

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PublisherSettings:
    """Topics and time-outs. `patience_s`: how long Kafka may be away before the replica gives up and exits.

    `step_timeout_s`: of fencing, reading to the ends, and renewing the producer; `TransactionTime` has that of publishing.
    `one_row`: whether the job's plan shows that each input record is one row, or a dead letter; markers say so.
    """

    ordering_topic: str
    commits_topic: str
    step_timeout_s: float = 10.0
    patience_s: float = 300.0
    most_pending_epochs: int = 16
    one_row: bool = False


class PublisherStoppedError(Exception):
    """The publisher has stopped, so no more epochs can be taken."""


class Publisher:
    """One replica's publisher. `publication` must have been fed what is already in both topics.

    Parameters
    ----------
    refused : where rows go, and which of them the broker does not take.
    troubles : is given what else the brokers refuse, and when that is over.
    write_tables : writes the rows of an epoch that go to tables; called by the owner before the epoch's transaction.
    on_published : called with each epoch that this replica has published, and its digest.
    on_marker : called with each epoch that whoever has published.
    succession : proposes this replica's config, if its generation has not begun yet.
    task : says what the publication of an epoch waits for that this replica has computed.
    """

    def __init__(
        self,
        settings: PublisherSettings,
        refused: RefusedRows,
        troubles: Troubles,
        publication: Publication,
        tail: LogTail,
        appender: ProposalAppender,
        producer: EpochProducer,
        fencer: Fencer,
        catch_up: CatchUp,
        metrics: ReplicaMetrics,
        failovers: Failovers,
        write_tables: Callable[[EpochRows], None] = lambda _: None,
        on_published: Callable[[int, str], None] = lambda _epoch, _digest: None,
        on_marker: Callable[[int], None] = lambda _: None,
        succession: Succession | None = None,
        task: Task | None = None,
    ) -> None:
        self._task = task or Task()
        self._succession = succession
        self._settings = settings
        self._troubles = troubles
        self._publication = publication
        self._tail = tail
        self._appender = appender
        self._producer = producer
        self._fencer = fencer
        self._catch_up = catch_up
        self._metrics = metrics
        self._failovers = failovers
        self._readiness = Readiness(metrics, catch_up, _now_ms())
        metrics.published_epoch.set(publication.head - 1)
        metrics.head_epoch.set(publication.decisions.last_epoch)
        self._transaction_time = TransactionTime()
        self._writer = EpochWriter(
            publication.me,
            publication.generation,
            producer,
            refused,
            settings.commits_topic,
            metrics,
            write_tables,
            self._transaction_time,
            at=self._task.at,
            one_row=settings.one_row,
        )
        self._on_published = on_published
        self._on_marker = on_marker
        self._rows: dict[int, EpochRows] = {}
        self._current: Action | None = None
        self._failing_since: float | None = None
        self._failure: BaseException | None = None
        self._stopped = False
        self._state = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def retire(self, successor: str | None = None, timeout_s: float = 2.0) -> None:
        """Claim nothing any more, and wait until what was claimed is published: then nobody has to take over.

        If there is a `successor`, which may be `ANYBODY`, claim on until that has claimed an epoch: who stops at once leaves
        the epoch that it computes to one that may be slower. Both waits are `timeout_s` long at most.
        """
        with self._state:
            if successor is not None:
                self._publication.retire_after(successor)
                self._wait_for(lambda: self._publication.retired, timeout_s)
            self._publication.retire()
            self._wait_for(lambda: not self._publication.owes, timeout_s)

    def _wait_for(self, condition: Callable[[], bool], timeout_s: float) -> None:
        self._state.wait_for(lambda: condition() or self._stopped or self._failure is not None, timeout_s)

    def stop(self, timeout_s: float = 15.0) -> None:
        """Finish what is under way and stop."""
        with self._state:
            self._stopped = True
            self._state.notify_all()
        self._thread.join(timeout_s)
        self._appender.close()
        self._producer.close()
        self._tail.close()

    @property
    def ready(self) -> bool:
        """Whether this replica has reached the log's head, and has neither fallen far behind nor stood still since."""
        return self._readiness.ready

    @property
    def keeps_up(self) -> bool:
        """Whether it is at the head without any room left for it."""
        return self.ready and not self._catch_up.lags

    @property
    def is_candidate(self) -> bool:
        """Whether the log has not accepted this replica's generation yet."""
        return self._succession is not None

    def failure(self) -> BaseException | None:
        """Why it stopped by itself; None while it runs."""
        return self._failure

    def rows_of(self, epoch: int) -> EpochRows | None:
        """The rows that this replica computed, while they may still be needed."""
        return self._rows.get(epoch)

    def computed(self, rows: EpochRows) -> None:
        """Take over an epoch's rows from the engine; blocks while many wait.

        Raises `PublisherStoppedError`, `DivergedError`.
        """
        with self._state:
            self._state.wait_for(self._has_room, self._settings.patience_s)
            if self._stopped or self._failure is not None:
                raise PublisherStoppedError from self._failure
            self._rows[rows.epoch] = rows
            self._catch_up.computed(rows.epoch, self._publication.decisions.last_epoch, _now_ms())
            self._metrics.epoch.set(rows.epoch)
            if not self._publication.on_computed(rows.epoch, rows.digest):
                del self._rows[rows.epoch]
            claim = self._publication.next_claim(_now_ms())
            if claim is not None:
                self._appender.append(claim.claim)
            self._readiness.news(self._publication.decisions)

    def _has_room(self) -> bool:
        return len(self._rows) < self._settings.most_pending_epochs or self._stopped or self._failure is not None

    def _run(self) -> None:
        try:
            while not self._stopped:
                self._step()
        except BaseException as error:
            with self._state:
                self._failure = error
                self._state.notify_all()
        finally:
            self._task.ends()

    def _step(self) -> None:
        with self._state:
            pending = bool(self._rows)
        for record in self._tail.poll(0.005 if pending else 0.05):
            self._feed(record)
        with self._state:
            now, head = _now_ms(), self._publication.decisions.last_epoch
            action = self._current or self._publication.next_action(now)
            progress = self._catch_up.report(head, now)
            has_read_all = not self._tail.is_behind
            self._catch_up.check(head, has_read_all, now)
            self._readiness.look(head, has_read_all, now)
            self._tell(action)
        if progress is not None:
            self._appender.append(progress)
        self._succeed()
        if action is not None:
            with bound(epoch=self._epoch_of(action)):
                self._patiently(action)

    def _tell(self, action: Action | None) -> None:
        """Say what the oldest epoch waits for, if this replica has computed it."""
        head = self._publication.head
        if head in self._rows:
            step = awaited(action, self._publication, self._settings.ordering_topic, self._settings.commits_topic)
            self._task.begins(f"the publication of epoch {head}", step)
        else:
            self._task.ends()

    def _succeed(self) -> None:
        if self._succession is None:
            return
        decisions = self._publication.decisions
        with self._state:
            config = self._succession.next_proposal(decisions, self._readiness.proved_epoch, _now_ms())
            over = self._succession.is_over(decisions)
        if config is not None:
            self._appender.append(config)
        if over:
            _log.info("generation_begun", generation=self._publication.generation, after=decisions.last_epoch)
            self._succession = None

    def _feed(self, record: Record) -> None:
        try:
            self._take(record)
        except CodecError as error:
            _log.error("foreign_record", topic=record.topic, offset=record.offset, reason=str(error))

    def _take(self, record: Record) -> None:
        now = _now_ms()
        with self._state:
            if record.topic == self._settings.commits_topic:
                self._marker(decode_marker(record.value), record.timestamp_ms, now)
                return
            proposal = decode_proposal(record.value)
            verdict = self._publication.on_proposal(proposal, record.offset, now)
            if verdict is not Verdict.ACCEPTED:
                return
            if isinstance(proposal, Claim):
                self._claimed(proposal)
            elif isinstance(proposal, Cut):
                self._failovers.ordered(proposal.epoch, record.timestamp_ms)
                self._metrics.head_epoch.set(proposal.epoch)
                epoch = self._publication.decisions.epoch_range(proposal.epoch)
                if epoch is not None:
                    self._metrics.rows_in.inc(epoch.ends.records_since(epoch.starts))
            self._readiness.news(self._publication.decisions)

    def _marker(self, marker: Marker, at_ms: int, now: float) -> None:
        epoch = self._publication.decisions.epoch_range(marker.epoch)
        if not self._publication.on_marker(marker, now):
            return
        self._rows.pop(marker.epoch, None)
        self._troubles.over(_OUTPUT)
        self._metrics.published_epoch.set(marker.epoch)
        self._failovers.published(marker, at_ms)
        self._on_marker(marker.epoch)
        if epoch is not None and marker.owner == self._publication.me:
            self._metrics.publish_latency.observe(max(0.0, time.time() - epoch.time_ms / 1000))
        self._publication.decisions.forget_before(min(self._publication.head, self._catch_up.last_computed))
        self._state.notify_all()

    def _claimed(self, claim: Claim) -> None:
        self._failovers.claimed(claim)
        self._state.notify_all()
        if claim.owner == self._publication.me:
            (self._metrics.take_overs if claim.attempt else self._metrics.claims_won).inc()
            if claim.attempt:
                before = self._publication.decisions.claims(claim.epoch)[-2].owner
                _log.info("took_over", epoch=claim.epoch, attempt=claim.attempt, owner_before=before)
            return
        if claim.attempt == 0:
            self._metrics.claims_lost.inc()
        self._fencer.expect(claim.owner)

    def _epoch_of(self, action: Action) -> int:
        """The epoch that an action is for: only claims may be for later ones than the head."""
        return action.claim.epoch if isinstance(action, ProposeClaim) else self._publication.head

    def _patiently(self, action: Action) -> None:
        """Carry out an action; if Kafka is away, again at the next step, until patience ends."""
        try:
            self._act(action)
        except (FencingTimeoutError, NotAllowedError, ReadTimeoutError, ProducerLostError, KafkaException) as error:
            now = time.monotonic()
            self._failing_since = self._failing_since or now
            if now - self._failing_since > self._settings.patience_s:
                raise
            _log.warning("action_retried", action=type(action).__name__, reason=str(error))
            self._troubles.failed_as(_OUTPUT, str(error))
            self._current = action
        else:
            self._current, self._failing_since = None, None

    def _act(self, action: Action) -> None:
        timeout = self._settings.step_timeout_s
        match action:
            case ProposeClaim(claim):
                self._appender.append(claim)
            case Fence(owners):
                for owner in owners:
                    with self._metrics.phase("fence"):
                        self._fencer.fence(owner, timeout)
                    self._metrics.fences.inc()
                self._publication.done(action)
            case ReadToEnd():
                for record in self._tail.read_to_end(timeout, lambda: not self._stopped):
                    self._feed(record)
                self._publication.done(action)
            case RenewProducer():
                self._producer.start(timeout, self._transaction_time.limit_s)
                self._publication.done(action)
            case Publish():
                self._publish(action)

    def _pause(self) -> None:
        """Where Kafka has refused for a while, and at once each time, there is no hurry."""
        if self._troubles.words:
            with self._state:
                self._state.wait_for(lambda: self._stopped, _PAUSE_S)

    def _publish(self, action: Publish) -> None:
        epoch = self._publication.decisions.epoch_range(action.epoch)
        assert epoch is not None, f"epoch {action.epoch} was computed, but its cut was not read"  # noqa: S101
        rows = self._rows[action.epoch]
        try:
            outcome = self._writer.write(action, rows, epoch)
        except TransactionTooSlowError as error:
            if words := self._troubles.words:
                raise TransactionTooSlowError(f"epoch {action.epoch} cannot be published: {words}") from error
            raise
        if outcome is Outcome.COMMITTED:
            self._on_published(action.epoch, rows.digest)
        elif outcome is Outcome.UNKNOWN and self._producer.failures:
            self._troubles.failed(_OUTPUT, self._producer.failures)
            self._pause()
        with self._state:
            self._publication.done(action, outcome)


_OUTPUT = "output"
"""What is refused, for whoever reads of it."""


_PAUSE_S = 0.5


def _now_ms() -> float:
    return time.monotonic() * 1000


__all__ = ["DivergedError", "Publisher", "PublisherSettings", "PublisherStoppedError"]
