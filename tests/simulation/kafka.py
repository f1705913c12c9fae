"""Kafka as far as the protocol leans on it: logs, transactions, and the fencing of transactional ids.

Faithful where it hurts: a fenced producer learns of it at the commit and not before; a commit is decided first and becomes
visible in each partition at a time of its own; an open transaction hides everything after it from committed readers;
initialising an id whose transaction is still being ended has to be tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from simulation.invariants import InvariantError
from tandem.protocol.values import Marker, Proposal

if TYPE_CHECKING:
    from simulation.world import World


class State(Enum):
    """Of a transaction."""

    OPEN = "open"
    COMMITTING = "committing"
    ABORTING = "aborting"


class Transaction:
    """Records of several partitions that become visible together, or never."""

    __slots__ = ("commit_sent", "markers", "number", "partitions", "state", "tid", "world")

    def __init__(self, world: World, tid: str, number: int) -> None:
        self.world, self.tid, self.number = world, tid, number
        self.state = State.OPEN
        self.commit_sent = False
        self.partitions: list[Partition | LogInTransaction] = []
        self.markers: list[Marker] = []


class OrderingLog:
    """The ordering topic: every record is visible to everyone at once, but behind the transaction of a change of lanes."""

    def __init__(self) -> None:
        self.worlds: list[World] = []  # whose log it is
        self.beginning = 0  # what is before was removed; it stays in `records` so that offsets are indices
        self.records: list[Proposal] = []
        self._hidden: list[tuple[Transaction | None, Proposal]] = []
        self._ended: dict[Transaction, bool] = {}

    @property
    def end(self) -> int:
        """The offset of the next record, also behind what is hidden."""
        return len(self.records) + len(self._hidden)

    def append(self, proposal: Proposal, transaction: Transaction | None = None) -> None:
        """Append a proposal, plain or of a transaction."""
        self._hidden.append((transaction, proposal))
        self._advance()

    def finish(self, transaction: Transaction, committed: bool) -> None:
        """The control record of a transaction."""
        self._ended[transaction] = committed
        self._advance()

    def _advance(self) -> None:
        while self._hidden:
            transaction, proposal = self._hidden[0]
            committed = True if transaction is None else self._ended.get(transaction)
            if committed is None:
                return
            del self._hidden[0]
            if committed:
                self._show(proposal)

    def _show(self, proposal: Proposal) -> None:
        self.records.append(proposal)
        for world in self.worlds:
            world.checker.on_appended(len(self.records) - 1, proposal)
            world.wake_all()


class LogInTransaction:
    """An ordering log as one transaction writes it; `first`: the offset of what it wrote first, −1: nothing."""

    def __init__(self, log: OrderingLog) -> None:
        self._log = log
        self.first = -1

    def append(self, proposals: Sequence[Proposal], transaction: Transaction) -> None:
        """See `Partition`, as for all that follows."""
        if self not in transaction.partitions:
            self.first = self._log.end
            transaction.partitions.append(self)
        for proposal in proposals:
            self._log.append(proposal, transaction)

    def finish(self, transaction: Transaction, committed: bool) -> None:
        self._log.finish(transaction, committed)


class Partition:
    """One partition that transactions write to. `visible` is what a committed reader has been shown, in order."""

    def __init__(self, name: str, *readers: Callable[[Any], None]) -> None:
        self.name = name
        self.end = 0
        self.visible: list[Any] = []
        self.readers = list(readers)
        self._hidden: list[tuple[Transaction | None, Any]] = []  # from the last stable offset on
        self._ended: dict[Transaction, bool] = {}

    @property
    def stable_end(self) -> int:
        """The last stable offset: up to here everything is committed or aborted."""
        return self.end - len(self._hidden)

    def append(self, rows: Sequence[Any], transaction: Transaction | None) -> None:
        """Append rows, of a transaction or plain."""
        self.end += len(rows)
        self._hidden.extend((transaction, row) for row in rows)
        if transaction is not None and self not in transaction.partitions:
            transaction.partitions.append(self)
        self._advance()

    def finish(self, transaction: Transaction, committed: bool) -> None:
        """The control record: the transaction's rows here are committed, or aborted."""
        self._ended[transaction] = committed
        self._advance()

    def _advance(self) -> None:
        taken = 0
        for transaction, row in self._hidden:
            committed = True if transaction is None else self._ended.get(transaction)
            if committed is None:
                break
            taken += 1
            if committed:
                self.visible.append(row)
                for on_visible in self.readers:
                    on_visible(row)
        del self._hidden[:taken]


class Producer:
    """What the coordinator knows of a transactional id."""

    __slots__ = ("number", "transaction", "world")

    def __init__(self, world: World) -> None:
        self.world = world  # whose replicas use it
        self.number = -1
        self.transaction: Transaction | None = None


class Coordinator:
    """The transaction coordinator as one lane meets it. `number` is what Kafka calls the producer epoch."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._producers = world.site.producers

    def initialise(self, tid: str, by: str) -> int | None:
        """Fence the id and give it a new number; None: its transaction is being ended, try again."""
        producer = self._producers.setdefault(tid, Producer(self._world))
        if producer.world is not self._world and self._world.site.of_all_lanes not in (tid, by):
            raise InvariantError(f"{by} of {self._world.job} fences {tid} of {producer.world.job}")
        transaction = producer.transaction
        if transaction is not None and by != tid and (transaction.commit_sent or transaction.state is State.COMMITTING):
            self._world.reached("taken over during a commit")
        if transaction is not None and transaction.state is not State.OPEN:
            return None
        producer.number += 1
        if transaction is None:
            return producer.number
        self._end(producer, transaction, State.ABORTING)
        return None

    def produce(self, tid: str, number: int, rows: Sequence[tuple[Any, Sequence[Any]]]) -> bool:
        """Append to the id's transaction, opening it; False: the last one is being ended, try again.

        Of a fenced producer nothing is appended, and it is not told.
        """
        producer = self._producers[tid]
        if producer.number != number:
            return True
        if producer.transaction is None:
            world = self._world
            producer.transaction = transaction = Transaction(world, tid, number)
            world.timeline.after(world.schedule.transaction_timeout_ms, None, self._expire, producer, transaction)
        transaction = producer.transaction
        if transaction.state is not State.OPEN:
            return False
        for partition, some in rows:
            if partition is transaction.world.commits:
                transaction.markers.extend(some)
            partition.append(some, transaction)
        return True

    def commit_sent(self, tid: str, number: int) -> None:
        """Bookkeeping of the tests: a commit is on its way."""
        producer = self._producers[tid]
        if producer.number == number and producer.transaction is not None:
            producer.transaction.commit_sent = True

    def is_fenced(self, tid: str, number: int) -> bool:
        """Whether somebody initialised the id after that producer."""
        return self._producers[tid].number != number

    def commit(self, tid: str, number: int) -> bool:
        """Decide the commit; False: the producer is fenced."""
        producer = self._producers[tid]
        transaction = producer.transaction
        if producer.number != number or transaction is None or transaction.state is not State.OPEN:
            return False
        for marker in transaction.markers:
            transaction.world.checker.on_committed(marker)
        self._end(producer, transaction, State.COMMITTING)
        return True

    def _expire(self, producer: Producer, transaction: Transaction) -> None:
        if producer.transaction is transaction and transaction.state is State.OPEN:
            producer.number += 1
            self._world.reached("transaction timed out")
            self._end(producer, transaction, State.ABORTING)

    def _end(self, producer: Producer, transaction: Transaction, state: State) -> None:
        transaction.state = state
        world, last = transaction.world, 0.0
        for partition in transaction.partitions:
            delay = world.delay()
            last = max(last, delay)
            world.timeline.after(delay, None, self._control, partition, transaction, state is State.COMMITTING)
        world.timeline.after(last, None, self._ended, producer)

    def _control(self, partition: Partition | LogInTransaction, transaction: Transaction, committed: bool) -> None:
        partition.finish(transaction, committed)
        transaction.world.wake_all()

    def _ended(self, producer: Producer) -> None:
        producer.transaction = None
