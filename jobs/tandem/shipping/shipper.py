"""Ships what each published epoch, or each batch of epochs, added to this replica's checkpoint, while it is its turn.

On a thread of its own; nothing that goes wrong here may stop or slow the job. Only epochs are shipped whose marker this
replica has read and compared with its own rows: a replica that has diverged ships nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from confluent_kafka import KafkaError, KafkaException, Message

from tandem.checkpoint.folders import find_newest
from tandem.kafka.client import RECORD_OVERHEAD, KafkaConnection
from tandem.kafka.history import watermarks
from tandem.kafka.producer import Producer
from tandem.kafka.tail import LogTail
from tandem.kafka.topics import Topics
from tandem.logs import get_logger
from tandem.protocol.shipping import ShippingTurn
from tandem.shipping.errors import DeltaError, DeltaGapError, NotCommittedError, UnknownStateError
from tandem.shipping.files import Batch, next_batch, read_files, stores_in
from tandem.shipping.values import Delta, StateIdentity, encode_delta, epoch_and_shipper
from tandem.waits import Task

_log = get_logger(__name__)

_TICK_S = 0.1
_AGAIN_S = 1.0
_TIMEOUT_S = 10.0
_QUEUE_KB = 32_768
_LEAST_LIMIT = 65_536


@dataclass(frozen=True, slots=True)
class ShipperSettings:
    """`most_bytes`: a batch with more is shipped by reference; the topic's own limit counts too.

    `at_barriers`: state is committed behind barriers, not behind each epoch.
    """

    checkpoints_topic: str
    most_bytes: int
    at_barriers: bool = False


@dataclass(frozen=True, slots=True)
class ShippedState:
    """The state that `shipper`, an incarnation, adds to; `checkpoint`: the folder that its Spark writes."""

    identity: StateIdentity
    shipper: str
    checkpoint: Path


class Shipper:
    """One replica's part in shipping.

    Parameters
    ----------
    state : this replica's own.
    on_shipped : called with the epoch and bytes of each delta that the topic has taken from this replica.
    clock_ms : any monotonic clock.
    task : says that what is to be shipped waits.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        settings: ShipperSettings,
        state: ShippedState,
        turn: ShippingTurn,
        on_shipped: Callable[[int, int], None] = lambda _epoch, _bytes: None,
        clock_ms: Callable[[], float] = lambda: time.monotonic() * 1000,
        task: Task | None = None,
    ) -> None:
        self._task = task or Task()
        self._connection = connection
        self._settings = settings
        self._state = state
        self._checkpoint = state.checkpoint
        self._turn = turn
        self._on_shipped = on_shipped
        self._clock_ms = clock_ms
        self._stores: frozenset[PurePosixPath] | None = None
        self._published = -1
        self._sent = -1
        self._next = 0  # probably the number of the next batch
        self._barrier = -1  # the newest that the turn knows of
        self._warned = False
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="shipper", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout_s: float = 2.0) -> None:
        """Stop; what is on its way is left behind."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(timeout_s)

    def published(self, epoch: int) -> None:
        """The marker of `epoch` was read and compared. Returns at once."""
        with self._lock:
            self._published = max(self._published, epoch)
            if not self._settings.at_barriers:
                self._turn.published(epoch, self._clock_ms())

    def _run(self) -> None:
        try:
            self._run_on()
        finally:
            self._task.ends()

    def _run_on(self) -> None:
        while not self._stopped.is_set():
            try:
                self._ship()
            except UnknownStateError as error:
                _log.error("state_is_not_shipped", reason=str(error), effect="standbys restore it when promoted")
                return
            except Exception as error:
                self._warn("shipping_interrupted", str(error))
                self._stopped.wait(_AGAIN_S)

    def _ship(self) -> None:
        topic = self._settings.checkpoints_topic
        most = min(self._settings.most_bytes, self._room_in_a_record())
        producer = Producer(
            self._connection.appender()
            | {"message.max.bytes": most + RECORD_OVERHEAD, "queue.buffering.max.kbytes": _QUEUE_KB}
        )
        low, high = watermarks(self._connection, topic, _TIMEOUT_S)
        self._sent = -1
        with LogTail(self._connection, {topic: max(low, high - 1)}) as tail:
            while not self._stopped.is_set():
                for record in tail.poll(_TICK_S):
                    self._read(record.value)
                producer.poll(0)
                self._ship_due(producer, most)

    def _room_in_a_record(self) -> int:
        limits = Topics(self._connection).message_limits([self._settings.checkpoints_topic])
        limit = min(limits.values(), default=1_000_000)
        return max(_LEAST_LIMIT, limit - RECORD_OVERHEAD)

    def _read(self, value: bytes | None) -> None:
        try:
            epoch, shipper = epoch_and_shipper(value)
        except DeltaError as error:
            _log.warning("delta_unusable", topic=self._settings.checkpoints_topic, reason=str(error))
            return
        with self._lock:
            self._turn.delta(epoch, shipper, self._clock_ms())

    def _ship_due(self, producer: Producer, most: int) -> None:
        self._note_barrier()
        with self._lock:
            published, shipped = self._published, self._turn.shipped
            if not self._turn.is_mine(self._clock_ms()):
                self._task.ends()
                return
        if shipped > self._sent:
            self._sent, self._next = shipped, shipped + 1
        while not self._stopped.is_set():
            batch = next_batch(self._checkpoint, self._sent, published, self._next)
            if batch is None:
                break  # Spark commits it in a moment, or at the next barrier
            if not self._send(producer, batch, most):
                return
            self._sent, self._next = batch.position.epoch, batch.number + 1
        if len(producer) == 0:
            self._task.ends()

    def _note_barrier(self) -> None:
        """A barrier of this replica's that is published is waited for, until somebody has shipped it."""
        if not self._settings.at_barriers:
            return
        newest = find_newest([self._checkpoint], self._published)
        if newest is not None and newest.position.epoch > self._barrier:
            self._barrier = newest.position.epoch
            with self._lock:
                self._turn.published(self._barrier, self._clock_ms())

    def _send(self, producer: Producer, batch: Batch, most: int) -> bool:
        """Hand a batch to the producer; False if it has no room now."""
        epoch, value = batch.position.epoch, encode_delta(self._delta(batch, most))

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                self._sent = min(self._sent, batch.after)
                self._warn("delta_not_delivered", error.str())
                if error.fatal() or error.code() == KafkaError._MSG_TIMED_OUT:
                    raise KafkaException(error)  # a new client: this one may have forgotten the brokers (`BrokerWatch`)
                return
            self._warned = False
            self._on_shipped(epoch, len(value))

        try:
            producer.produce(self._settings.checkpoints_topic, value, partition=0, on_delivery=delivered)
        except BufferError:
            self._warn("shipping_waits", "Kafka takes nothing, and the queue is full")
            return False
        return True

    def _delta(self, batch: Batch, most: int) -> Delta:
        epoch, number = (
            batch.position.epoch,
            None if batch.number == batch.position.epoch else (batch.number, batch.after),
        )
        try:
            if self._stores is None:
                self._stores = stores_in(self._checkpoint)
            files = read_files(self._checkpoint, batch.number, self._stores, most)
        except (DeltaGapError, NotCommittedError) as error:
            _log.info("delta_left_out", epoch=epoch, reason=str(error))
            return Delta(epoch, self._state.identity, self._state.shipper, left_out=str(error), batch=number)
        return Delta(epoch, self._state.identity, self._state.shipper, tuple(files), batch=number)

    def _warn(self, event: str, reason: str) -> None:
        """Once for each time that Kafka is away, however long."""
        self._task.begins("the shipping of its state to those that stand by", reason)
        if not self._warned:
            _log.warning(event, reason=reason, effect="the job goes on; standbys follow snapshots meanwhile")
        self._warned = True
