"""How many bytes stand in the inputs behind the last cut: counted by reading them, since Kafka knows offsets, not sizes.

Nothing else bounds an epoch. `max.message.bytes` bounds a batch as it is sent, compressed: what it holds may be a hundred
times as large, and a mean of what came before is wrong as soon as producers change.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaTopicPartition

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import LostInputError
from tandem.kafka.fetch_watch import MOST_SILENCE_S, SILENCE_S, FetchWatch
from tandem.kafka.patience import AGAIN_S, Denied, is_absence, is_denied
from tandem.kafka.prefetch import Pausing, Share
from tandem.kafka.tail import check_readable, may_come_back
from tandem.kafka.workarounds import learn
from tandem.logs import get_logger
from tandem.orderer.counted import Counted, sizes_before, weight
from tandem.protocol.cutting import Sizes, beyond_gaps, ends_first
from tandem.protocol.values import Offsets, TopicPartition

_log = get_logger(__name__)

_BATCH = 10_000
_NEWS = 500
"""So many records are counted in a millisecond or two: a cut that is due does not wait for more."""
_QUEUE_KIB = 16_384
_EPOCHS_AHEAD, _EACH_AHEAD = 20, 2
"""A partition is paused only when so much is counted, while others are waited for: what librdkafka holds is lost by that.
In epochs: of all partitions together, but so many of each."""
_WAIT_S = 0.01
_UNUSED_MS = 2_000.0


class InputSizes:
    """Follows the inputs from the last cut on, as far as the next epoch may reach; keeps sizes, no records.

    Only who proposes reads: others rest, connected, so that they can begin at once.

    `isolation` : topic → isolation level.
    `max_bytes`, `max_records` : of an epoch.
    `tables` : topics of which all is taken before any record of another.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        isolation: Mapping[str, str],
        max_bytes: int,
        max_records: int,
        tables: frozenset[str] = frozenset(),
    ) -> None:
        self._max_bytes, self._tables = max_bytes, tables
        self._readers = {
            level: _Reader(connection, level, max_bytes, max_records) for level in sorted(set(isolation.values()))
        }
        self._isolation = dict(isolation)
        self._used_ms = -float("inf")

    def bounded(
        self, last: Offsets, ends: Offsets, turn: int, now_ms: float, available: Offsets | None = None
    ) -> Offsets:
        """`ends`, or less: as much as was counted, and is no more than `max_bytes` behind `last`; one record may be larger.

        Or more, up to `available`, where there are fewer records than offsets.

        Waits some ms for what is still to be counted. `turn` : which input comes first where not all can. Raises
        `LostInputError`, `NotAllowedError`.
        """
        self._used_ms = now_ms
        starts = Offsets({tp: last.get(tp, 0) for tp in ends})
        sizes: dict[TopicPartition, Sizes] = {}
        for level, reader in self._readers.items():
            mine = [tp for tp in ends if self._isolation[tp.topic] == level]
            sizes |= reader.sizes({tp: starts[tp] for tp in mine}, {tp: ends[tp] for tp in mine}, available or ends)
        ends = Offsets({tp: max(end, sizes[tp].to) for tp, end in ends.items()})
        return ends_first(starts, ends, sizes, self._max_bytes, turn, lambda tp: tp.topic in self._tables)

    def follow(self, last: Offsets, inputs: Iterable[TopicPartition], now_ms: float) -> None:
        """Read `inputs` on from `last`: a cut is to be made as soon as something comes. Not of a job with tables.

        Raises `NotAllowedError`.
        """
        self._used_ms = now_ms
        if not self._tables:
            starts = {tp: last.get(tp, 0) for tp in inputs}
            for level, reader in self._readers.items():
                if mine := {tp: start for tp, start in starts.items() if self._isolation[tp.topic] == level}:
                    reader.follow(mine)

    def meanwhile(self, now_ms: float) -> None:
        """While no cut is due: count what has come; read no more if another one proposes. Raises `LostInputError`."""
        for reader in self._readers.values():
            if now_ms - self._used_ms >= _UNUSED_MS:
                reader.rest()
            else:
                reader.read_on()

    def wait(self, timeout_s: float) -> bool:
        """Wait until a record of the inputs comes; False, at once: they are not followed, or by more than one consumer.

        Raises `LostInputError`.
        """
        readers = list(self._readers.values())
        return len(readers) == 1 and readers[0].wait(timeout_s)

    def read_to(self) -> Mapping[TopicPartition, int]:
        """How far the partitions are read that are followed now, with what has come; none of a job with tables.

        A table's topic is read to its end before any record of another: where it ends is always asked. Raises
        `LostInputError`.
        """
        found: dict[TopicPartition, int] = {}
        for reader in self._readers.values() if not self._tables else ():
            reader.read_on(_NEWS)
            found |= reader.read_to
        return found

    def close(self) -> None:
        """Close all consumers."""
        for reader in self._readers.values():
            reader.close()


class _Waited(NamedTuple):
    """Since when nothing comes of a partition, which is counted to `to`, or known to be skipped to there."""

    since_s: float
    to: int


class _Reader:
    """Counts the records of one isolation level."""

    def __init__(self, connection: KafkaConnection, level: str, max_bytes: int, max_records: int) -> None:
        self._connection, self._level = connection.silent, level  # not polled while it rests
        self._max_bytes, self._max_records = max_bytes, max_records
        self._consumer: Consumer | None = None
        self._watch = FetchWatch()
        self._silence_s = SILENCE_S
        self._pausing = Pausing(1.0)
        self._inputs: dict[TopicPartition, Counted] = {}
        self._denied = Denied()
        self._waited: dict[TopicPartition, _Waited] = {}  # of which nothing comes although something is there
        self._made_s = self._ended_s = -float("inf")  # the consumer, and the reading of a topic that it did not find

    def sizes(
        self,
        starts: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int],
        available: Mapping[TopicPartition, int],
    ) -> dict[TopicPartition, Sizes]:
        """What is counted from `starts` to `ends`, or beyond these where offsets without a record lie between."""
        consumer = self.follow(starts)
        now = time.monotonic()
        deadline = now + _WAIT_S
        while waiting := [tp for tp, end in ends.items() if self._inputs[tp].to < end and not self._is_ahead(tp)]:
            if now >= deadline:
                break
            self._pause_full(consumer)
            self._take(consumer.consume(_BATCH, 0) or _one(consumer, deadline - now))
            now = time.monotonic()
        self._check_waiting(waiting, now)
        return {tp: self._sizes(tp, starts[tp], end, available.get(tp, end)) for tp, end in ends.items()}

    def _check_waiting(self, waiting: Iterable[TopicPartition], now: float) -> None:
        """Connect again if nothing comes of what is waited for; what is not waited for may well be silent."""
        before, self._waited = self._waited, {}
        for tp in waiting:
            known, to = before.get(tp), max(self._inputs[tp].to, self._watch.place(tp))
            self._waited[tp] = known if known is not None and known.to == to else _Waited(now, to)
        self._denied.check({tp.topic: one.since_s for tp, one in self._waited.items()})
        if not self._waited:
            self._silence_s = SILENCE_S
        if silent := [tp for tp, one in self._waited.items() if now - max(one.since_s, self._made_s) > self._silence_s]:
            _log.warning("input_silent", inputs=[f"{tp.topic}/{tp.partition}" for tp in sorted(silent)], who="orderer")
            self._silence_s = min(2 * self._silence_s, MOST_SILENCE_S)
            self.close()
            self._watch.begin(is_on=True)

    def follow(self, starts: Mapping[TopicPartition, int]) -> Consumer:
        """Count from `starts` on; the consumer that reads."""
        if time.monotonic() - AGAIN_S >= self._ended_s > self._made_s:
            self.close()
        consumer = self._following(starts)
        for tp, start in starts.items():
            self._inputs[tp].forget_before(start)
        return consumer

    def _sizes(self, tp: TopicPartition, start: int, end: int, available: int) -> Sizes:
        one = self._inputs.get(tp, Counted(start, start))
        return sizes_before(one, beyond_gaps(start, end, available, one.offsets, one.to))

    @property
    def read_to(self) -> dict[TopicPartition, int]:
        """How far each partition is read that is followed now."""
        return {tp: one.to for tp, one in self._inputs.items()}

    def read_on(self, most: int = _BATCH) -> None:
        """Count what has come, `most` records of it, as far as the next epoch may reach, without waiting for it."""
        if self._consumer is not None and not all(map(self._is_ahead, self._inputs)):
            self._pause_full(self._consumer)
            self._take(self._consumer.consume(most, 0))

    def wait(self, timeout_s: float) -> bool:
        """Count the next record when it comes; False, at once: nothing is read."""
        if self._consumer is None or not self._inputs:
            return False
        self._take(_one(self._consumer, timeout_s))
        return True

    def rest(self) -> None:
        """Forget what was counted; the consumer stays connected, unless it is watched: it is not polled while it rests."""
        if self._watch.is_on:
            self.close()
        self._forget()

    def _forget(self) -> None:
        if self._inputs and self._consumer is not None:
            self._pausing.changes({}).carry_out(self._consumer)  # it would stay paused when it is assigned again
            self._consumer.unassign()
        self._inputs, self._waited = {}, {}
        self._watch.begin(self._watch.is_on)  # places of before say nothing of what is assigned next

    def close(self) -> None:
        """Close the consumer; the next count makes another one."""
        self._inputs, self._pausing = {}, Pausing(1.0)
        if self._consumer is not None:
            self._consumer.close()
        self._consumer = None
        self._watch.begin(is_on=False)

    def _is_ahead(self, tp: TopicPartition) -> bool:
        """Whether an epoch could be made of what is counted of one partition alone."""
        one = self._inputs[tp]
        return one.total >= self._max_bytes or len(one.offsets) >= self._max_records

    def _following(self, starts: Mapping[TopicPartition, int]) -> Consumer:
        """The consumer, assigned to all of `starts`; one that others have overtaken goes on where they are."""
        if any(tp in self._inputs and start > self._inputs[tp].to for tp, start in starts.items()):
            self._forget()
        new = {tp: start for tp, start in starts.items() if tp not in self._inputs}
        if self._consumer is None:
            share = Share.of(len(starts), _QUEUE_KIB, min(self._max_records, 20_000))
            settings = share.settings | self._connection.consumer(self._level) | share.queue
            self._consumer = Consumer(settings | self._watch.settings)
            self._made_s = time.monotonic()
        if new:
            learn(self._consumer, {tp.topic for tp in new})
            self._inputs |= {tp: Counted(start, start) for tp, start in new.items()}
            self._consumer.incremental_assign([KafkaTopicPartition(*tp, start) for tp, start in new.items()])
        return self._consumer

    def _pause_full(self, consumer: Consumer) -> None:
        most = self._max_records * max(_EACH_AHEAD, _EPOCHS_AHEAD // max(1, len(self._inputs)))
        fullness = {tp: len(one.offsets) / most for tp, one in self._inputs.items() if one.offsets}
        self._pausing.changes(fullness).carry_out(consumer)

    def _take(self, messages: Sequence[Message]) -> None:
        for message in messages:
            error = message.error()
            if error is None:
                # A plain tuple finds it as well, and is made in a fraction of the time.
                self._inputs[message.topic(), message.partition()].take(message.offset() or 0, weight(message))  # type: ignore[index]
                self._denied.over(message.topic() or "")
            else:
                tp = TopicPartition(message.topic() or "", message.partition() or 0)
                self._failed(tp, message.offset() or 0, error)

    def _failed(self, tp: TopicPartition, offset: int, error: KafkaError) -> None:
        check_readable(f"{tp.topic}/{tp.partition}", error)
        if error.code() == KafkaError._PARTITION_EOF:
            if tp in self._inputs:
                self._inputs[tp].to = max(self._inputs[tp].to, offset)
        elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise LostInputError(
                f"{tp.topic}/{tp.partition}: offset {self._inputs[tp].to} was deleted before it was read. "
                "Nothing was skipped: restore the records, or start the job under a new name; then raise retention.ms"
            )
        elif is_denied(error):
            self._denied.add(tp.topic)
        elif is_absence(error):
            self._ended_s = time.monotonic()
        elif error.fatal() or not may_come_back(error):
            raise KafkaException(error)


def _one(consumer: Consumer, timeout_s: float) -> list[Message]:
    message = consumer.poll(timeout_s)
    return [] if message is None else [message]
