"""Fetching an epoch: what it gives, what says which it is, and reading exactly the records between two positions."""

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Protocol

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaTopicPartition

from tandem.checkpoint.position import EnginePosition
from tandem.intake.held_input import HeldInput, unread_in_words
from tandem.kafka.batches import OnThrottled, no_matter, throttle_cb
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import LostInputError, ReadTimeoutError
from tandem.kafka.fetch_watch import MOST_SILENCE_S, SILENCE_S, FetchWatch
from tandem.kafka.patience import Denied, is_denied
from tandem.kafka.prefetch import Pausing, Share
from tandem.kafka.tail import check_readable, may_come_back
from tandem.kafka.workarounds import learn
from tandem.logs import get_logger
from tandem.protocol.values import Answers, EpochRange, Offsets, TopicPartition

_log = get_logger(__name__)

_BATCH: Final = 1_000
"""Few enough that large headers, which librdkafka does not count, are noticed before many of them are held."""
_PATIENCE_S: Final = 120.0
"""The longest time without a record, or the end, of a partition that is waited for."""
_REST_S: Final = 10.0
"""After so long without an epoch a consumer is watched no more."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What was answered to question `name` about each record, in the order of `Fetched.records`; None: nothing."""

    name: str
    answers: Answers


@dataclass(frozen=True, slots=True)
class Fetched:
    """An epoch and its records: of each input partition, in the order of topic then partition, those in offset order; and
    the `answers` to the questions that the job asks about them."""

    range: EpochRange
    records: tuple[tuple[TopicPartition, list[Message]], ...]
    answers: tuple[Answered, ...] = ()

    @property
    def inputs(self) -> str:
        """Which records these are, among all that the epoch may have: see `Marker`."""
        count, gaps = 0, hashlib.blake2b(digest_size=8)
        for tp, messages in self.records:
            count += len(messages)
            if len(messages) < self.range.ends[tp] - self.range.starts.get(tp, 0):
                gaps.update(f"{tp.topic}/{tp.partition}".encode())
                gaps.update(b"".join(b"%d," % (message.offset() or 0) for message in messages))
        return f"{count}:{gaps.hexdigest()}"


Ask = Callable[[str, Callable[[], bool]], Answers | None]
"""Asks the outside world a question; None, without waiting any longer, when the other parameter says so."""
Wait = Callable[[str], None]
"""Called again and again with what is waited for. Raises `StoppedError`."""


class AnswerSource(Protocol):
    """Where the answers come from that count."""

    def answers(self, epoch: int, questions: Sequence[str], ask: Ask, wait: Wait) -> Mapping[str, Answers | None]:
        """To each of the questions about the epoch taken last; None: there is none, and nobody is asked."""


class Cuts(AnswerSource, Protocol):
    """The epochs that are to be computed, one after the other, and the answers about them.

    All of them may raise `StoppedError` when there will be no more.
    """

    position: EnginePosition
    """Behind the epoch taken last."""

    def next(self, timeout_s: float) -> EpochRange | None:
        """The epoch after `position`; None if it does not come within `timeout_s`. Does not move `position`."""

    def taken(self, epoch: EpochRange) -> None:
        """`epoch` was fetched: move behind it."""

    def close(self) -> None:
        """Release what it holds."""


class Epochs(Protocol):
    """What gives an engine the epochs that it computes, with their records."""

    @property
    def cuts(self) -> AnswerSource:
        """Gives the answers to the questions about the epoch fetched last."""

    def next_cut(self, timeout_s: float) -> EpochRange | None:
        """The epoch to fetch next; None if it is not cut within `timeout_s`. Raises `StoppedError`: no other will come."""

    def fetch(self, epoch: EpochRange) -> Fetched:
        """The records of the epoch that `next_cut` gave."""

    def close(self) -> None:
        """No other epoch is wanted."""


class InputReader:
    """Records of all input topics of one isolation level, fetched ahead by librdkafka's own threads.

    A partition of which enough is held is paused: while one is waited for, the others do not fill the memory.

    `on_throttled` : called when a broker holds the consumer back.
    """

    def __init__(
        self, connection: KafkaConnection, isolation_level: str, on_throttled: OnThrottled = no_matter
    ) -> None:
        self._connection = connection.silent  # not polled while no epoch is fetched
        self._callbacks = throttle_cb(on_throttled)
        self._isolation_level = isolation_level
        self._share = Share.of(1)
        self._made: Consumer | None = None
        self._watch = FetchWatch()
        self._silence_s = SILENCE_S
        self._used_s = 0.0
        self._pausing = Pausing(1.0)
        self._inputs: dict[TopicPartition, HeldInput] = {}
        self._denied = Denied()

    @property
    def ahead(self) -> dict[TopicPartition, int]:
        """How many records are held that are not wanted yet."""
        return {tp: len(one.ahead) for tp, one in self._inputs.items()}

    def fetch(
        self, starts: Offsets, ends: Offsets, timeout_s: float = inf
    ) -> list[tuple[TopicPartition, list[Message]]]:
        """The records from `starts` to `ends`. `timeout_s`: for all of them; without it, as long as they keep coming.

        Raises `LostInputError`, `NotAllowedError`, `ReadTimeoutError`.
        """
        self._add(starts, ends)
        for tp, end in ends.items():
            self._inputs[tp].want(end)
        begun = heard = moved = time.monotonic()
        waiting = {tp for tp, end in ends.items() if self._inputs[tp].fetched_to < end}
        while waiting:
            self._denied.check()
            self._pause_full()
            before = self._sum_of_places(waiting)
            messages = self._consumer.consume(_BATCH, 0) or self._one(0.02)
            self._take(messages)
            now = time.monotonic()
            # Another client says again where a partition ends: who waits behind an open transaction comes no further by it.
            moved = now if self._sum_of_places(waiting) != before else moved
            waiting = {tp for tp in waiting if self._inputs[tp].fetched_to < ends[tp]}
            if waiting and now - moved > _PATIENCE_S:
                raise ReadTimeoutError(unread_in_words(waiting, ends, f"no record came for {_PATIENCE_S:.0f} s"))
            if waiting and now - begun > timeout_s:
                raise ReadTimeoutError(unread_in_words(waiting, ends, f"not all records came within {timeout_s:.0f} s"))
            if messages or self._watch.got_on():
                heard = now
            elif waiting and now - heard > self._silence_s:
                _log.warning("input_silent", inputs=[f"{tp.topic}/{tp.partition}" for tp in sorted(waiting)])
                self._connect_anew(is_watched=True)
                self._silence_s = min(2 * self._silence_s, MOST_SILENCE_S)
                heard = time.monotonic()  # to connect takes a while
        self._used_s = time.monotonic()
        return [(tp, self._inputs[tp].hand_out()) for tp in ends]

    def rest(self) -> None:
        """No epoch is there to be fetched: a watched consumer gives way, since nobody polls it now."""
        if self._watch.is_on and time.monotonic() - self._used_s > _REST_S:
            self._connect_anew(is_watched=False)
            self._silence_s = SILENCE_S

    def close(self) -> None:
        """Close the consumer."""
        if self._made is not None:
            self._made.close()

    @property
    def _consumer(self) -> Consumer:
        """Made when it is known how many partitions share the memory."""
        if self._made is None:
            settings = self._connection.consumer(self._isolation_level)
            callbacks = self._callbacks | self._watch.settings
            self._made = Consumer(self._share.settings | settings | self._share.queue | callbacks)
        return self._made

    def _add(self, starts: Offsets, ends: Offsets) -> None:
        new = {tp: starts.get(tp, 0) for tp in ends if tp not in self._inputs}
        if new:
            self._share = Share.of(len(ends))
            learn(self._consumer, {tp.topic for tp in new})
            self._inputs |= {tp: HeldInput(position) for tp, position in new.items()}
            self._consumer.incremental_assign([KafkaTopicPartition(*tp, position) for tp, position in new.items()])

    def _sum_of_places(self, places: Iterable[TopicPartition]) -> int:
        return sum(max(self._inputs[tp].fetched_to, self._watch.furthest(tp)) for tp in places)

    def _pause_full(self) -> None:
        fullness = {tp: one.fullness(self._share) for tp, one in self._inputs.items() if one.ahead}
        self._pausing.changes(fullness).carry_out(self._consumer)

    def _connect_anew(self, is_watched: bool) -> None:
        """With another client, which goes on behind what this one has handed out or skipped."""
        for one in self._consumer.position([KafkaTopicPartition(*tp) for tp in self._inputs]):
            held = self._inputs[TopicPartition(one.topic, one.partition)]
            held.fetched_to = max(held.fetched_to, one.offset)
        self.close()
        self._made, self._pausing = None, Pausing(1.0)
        self._watch.begin(is_watched)
        learn(self._consumer, {tp.topic for tp in self._inputs})
        self._consumer.assign([KafkaTopicPartition(*tp, one.fetched_to) for tp, one in self._inputs.items()])

    def _one(self, timeout_s: float) -> list[Message]:
        return [] if (message := self._consumer.poll(timeout_s)) is None else [message]

    def _take(self, messages: Iterable[Message]) -> None:
        for message in messages:
            error = message.error()
            if error is None:
                # A plain tuple finds it as well, and is made in a fraction of the time.
                self._inputs[message.topic(), message.partition()].take(message)  # type: ignore[index]
                self._denied.over(message.topic() or "")
            else:
                tp = TopicPartition(message.topic() or "", message.partition() or 0)
                self._failed(tp, message.offset() or 0, error)

    def _failed(self, tp: TopicPartition, offset: int, error: KafkaError) -> None:
        check_readable(f"{tp.topic}/{tp.partition}", error)
        if error.code() == KafkaError._PARTITION_EOF:
            self._inputs[tp].fetched_to = max(self._inputs[tp].fetched_to, offset)
        elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise LostInputError(
                f"{tp.topic}/{tp.partition}: offset {self._inputs[tp].fetched_to} was deleted before it was read. "
                "Nothing was skipped: restore the records, or start the job under a new name; then raise retention.ms. "
                "If other replicas have read it, this one lacks newer state: take snapshots (spec.snapshots)"
            )
        elif is_denied(error):
            self._denied.add(tp.topic)
        elif error.fatal() or not may_come_back(error):
            raise KafkaException(error)
