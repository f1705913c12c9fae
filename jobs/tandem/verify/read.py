"""Reading a job's logs and outputs to their ends, for the checker."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaTopicPartition

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import LostInputError, ReadTimeoutError, TandemKafkaError
from tandem.kafka.headers import headers_of, job_of, row_id, says_one_row
from tandem.kafka.tail import is_transient
from tandem.kafka.topics import Topics
from tandem.manifest import Manifest
from tandem.protocol.codec import CodecError, decode_marker, decode_proposal
from tandem.protocol.publication_rules import Delivery
from tandem.protocol.values import Cut, Marker, Offsets, TopicPartition
from tandem.verify.check import Checker, Kept
from tandem.verify.inputs import InputBounds
from tandem.verify.lead import Lead, read_through
from tandem.verify.records import RecordCount
from tandem.verify.report import Report

_BATCH = 2_000
OnProgress = Callable[[int, int], None]
"""Called with the records read and the records to read."""


@dataclass(frozen=True, slots=True)
class JobHistory:
    """The topics of a job, and what it promises. `inputs`: topic → isolation level; `from_start`: those read from their
    first record on. `job` is its name; rows of other jobs in the same topics are not its own. `counts`: whether each input
    record is to be one row of a topic, or a dead letter; None: in the epochs whose markers say so. `read_of`: which
    partitions are read of inputs with so many."""

    ordering: str
    commits: str
    outputs: frozenset[str]
    inputs: Mapping[str, str]
    from_start: frozenset[str]
    delivery: Delivery
    job: str = ""
    dead_letter: str = ""
    counts: bool | None = False
    read_of: Callable[[Mapping[str, int]], Mapping[str, range]] = lambda inputs: {
        topic: range(count) for topic, count in inputs.items()
    }

    @classmethod
    def of(cls, manifest: Manifest) -> JobHistory:
        """The history of a manifest's job."""
        spec, topics = manifest.spec, manifest.model.topics
        return cls(
            ordering=topics.ordering,
            commits=topics.commits,
            outputs=frozenset({sink.topic for sink in spec.sinks if sink.topic is not None} | {topics.dead_letter}),
            inputs={topic: source.isolation_level for source in spec.sources for topic in source.topics},
            from_start=frozenset(
                topic for source in spec.sources if source.starting_offsets == "earliest" for topic in source.topics
            ),
            delivery=Delivery(spec.delivery),
            job=manifest.name,
            dead_letter=topics.dead_letter,
            counts=spec.job.one_row_per_record,
            read_of=manifest.read_of,
        )


def verify(
    connection: KafkaConnection,
    history: JobHistory,
    wait_s: float = 0.0,
    progress: OnProgress = lambda _done, _all: None,
) -> Report:
    """Read everything that is there now and check it; again for up to `wait_s` seconds while something is unseen.

    Raises `MissingTopicError`, `ConnectionFailedError`, `LostInputError` (retention deletes what is being read),
    `ReadTimeoutError` (an end cannot be reached, as behind a transaction that stays open).
    """
    deadline = time.monotonic() + wait_s
    with HistoryReader(connection, history) as reader:
        while True:
            reader.read_to_end(progress)
            report = reader.report()
            if not report.unseen or time.monotonic() >= deadline:
                return reader.counted(progress)
            reader.wait(min(0.2, wait_s))


class HistoryReader:
    """Feeds a checker with everything that stands in a job's topics, in one pass or several.

    `window` : how many epochs a partition may be read ahead of the others.
    `stall_s` : how long nothing may come before an end that is known to be there.
    """

    def __init__(
        self, connection: KafkaConnection, history: JobHistory, window: int = 10_000, stall_s: float = 30.0
    ) -> None:
        self._history = history
        self._stall_s = stall_s
        self._connection = connection
        self._topics = Topics(connection)
        logs = {history.ordering, history.commits}
        self._outputs = self._topics.partitions(history.outputs)
        self._inputs = history.read_of(self._topics.partitions(history.inputs))
        everything = {**self._topics.partitions(logs), **self._outputs}
        self._beginnings = self._topics.beginnings(everything)
        self._next = dict(self._beginnings)
        self._commits, self._ordering = TopicPartition(history.commits, 0), TopicPartition(history.ordering, 0)
        cut_off = {tp for tp, offset in self._beginnings.items() if offset > 0}
        kept = Kept(self._ordering not in cut_off, self._commits not in cut_off, frozenset(cut_off) - _logs(history))
        self.checker = Checker(history.delivery, kept, history.dead_letter, history.counts)
        self._lead = Lead(self._next, window)
        self._later: list[tuple[Marker, int, bool]] = []
        self._marker_end = 0
        self._consumer = Consumer(connection.consumer() | {"queued.min.messages": 10_000})
        self._consumer.assign([KafkaTopicPartition(*tp, offset) for tp, offset in self._next.items()])

    def __enter__(self) -> HistoryReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._consumer.close()

    def read_to_end(self, progress: OnProgress = lambda _done, _all: None) -> None:
        """Read on to the ends that the topics have now.

        The commits topic's end is taken first, and later markers wait for the next pass: so every row of the markers that
        count is before the ends that are taken after it, or in a transaction that is committed and soon visible.
        """
        ends = dict(self._topics.ends({self._history.commits: 1}))
        ends |= self._topics.ends({**self._outputs, self._history.ordering: 1})
        self._marker_end = ends[self._commits]
        later, self._later = self._later, []
        for marker, offset, one_row in later:
            self._marker(marker, offset, one_row)
        self._read_until(lambda: all(self._next[tp] >= end for tp, end in ends.items()), ends, progress)
        if self.checker.waits_for_rows:
            highest = self._topics.ends(self._outputs, "read_uncommitted")
            self._read_until(
                lambda: not self.checker.waits_for_rows or all(self._next[tp] >= end for tp, end in highest.items()),
                highest,
                progress,
            )

    def wait(self, timeout_s: float) -> None:
        """Wait up to `timeout_s` for more records, and take them in."""
        self._take_all(self._consumer.consume(_BATCH, timeout_s))

    def report(self) -> Report:
        """What the checker says, with the present ends of the inputs."""
        ends: dict[TopicPartition, int] = {}
        for level in set(self._history.inputs.values()):
            topics = {topic: count for topic, count in self._inputs.items() if self._history.inputs[topic] == level}
            ends |= self._topics.ends(topics, level)
        beginnings = self._topics.beginnings(self._inputs)
        return self.checker.report(InputBounds(beginnings, Offsets(ends), self._history.from_start))

    def counted(self, progress: OnProgress = lambda _done, _all: None) -> Report:
        """The report, after the input records were counted if the job allows that. Only once."""
        count = self.checker.records
        if count is not None:
            try:
                self._count(count, progress)
            except (KafkaException, TandemKafkaError) as error:
                if self._history.counts:
                    raise
                count.give_up(str(error))
        return self.report()

    def _count(self, count: RecordCount, progress: OnProgress) -> None:
        ranges = count.to_read(self._topics.beginnings(self._inputs))
        for level in sorted(set(self._history.inputs.values())):
            mine = {tp: ends for tp, ends in ranges.items() if self._history.inputs[tp.topic] == level}
            read_through(self._connection, level, mine, count.on_record, progress, self._stall_s)

    def _read_until(self, done: Callable[[], bool], ends: Mapping[TopicPartition, int], progress: OnProgress) -> None:
        self._lead.start_again()
        total = sum(end - self._beginnings[tp] for tp, end in ends.items())
        news_at = time.monotonic()
        while not done():
            for tp, end in ends.items():
                if self._next[tp] >= end:
                    self._lead.ended(tp)
            self._lead.changes().carry_out(self._consumer)
            before = sum(self._next.values())
            self._take_all(self._consumer.consume(_BATCH, 0.05))
            now = time.monotonic()
            if sum(self._next.values()) > before:
                news_at = now
            elif now - news_at > self._stall_s:
                raise ReadTimeoutError(f"nothing came for {self._stall_s:.0f} s: {self._unreached(ends)}")
            progress(sum(min(self._next[tp], end) - self._beginnings[tp] for tp, end in ends.items()), total)

    def _unreached(self, ends: Mapping[TopicPartition, int]) -> str:
        behind = [
            f"{tp.topic}/{tp.partition} at {self._next[tp]} of {end}"
            for tp, end in ends.items()
            if self._next[tp] < end
        ]
        return f"{', '.join(behind)}. A transaction may be open there: try again when it has timed out"

    def _take_all(self, messages: list[Message]) -> None:
        for message in messages:
            tp, offset, error = (
                TopicPartition(message.topic() or "", message.partition() or 0),
                message.offset(),
                message.error(),
            )
            if error is not None:
                self._failed(tp, offset or 0, error)
            elif offset is not None and offset >= self._next[tp]:
                self._next[tp] = offset + 1
                self._take(tp, offset, message)

    def _take(self, tp: TopicPartition, offset: int, message: Message) -> None:
        try:
            if tp == self._commits:
                self._marker(decode_marker(message.value()), offset, says_one_row(headers_of(message)))
            elif tp == self._ordering:
                proposal = decode_proposal(message.value())
                self.checker.on_proposal(proposal, offset)
                if isinstance(proposal, Cut):
                    self._lead.reached(tp, proposal.epoch)
            else:
                headers = headers_of(message)
                row = row_id(headers)
                if row is None or (self._history.job and job_of(headers) not in (None, self._history.job)):
                    self.checker.on_foreign(tp.topic)
                    return
                self.checker.on_row(tp, row, offset)
                self._lead.reached(tp, row.epoch)
        except CodecError:
            self.checker.on_foreign(tp.topic)

    def _marker(self, marker: Marker, offset: int, one_row: bool) -> None:
        if offset >= self._marker_end:
            self._later.append((marker, offset, one_row))
            return
        self.checker.on_marker(marker, offset, one_row)
        self._lead.reached(self._commits, marker.epoch)

    def _failed(self, tp: TopicPartition, offset: int, error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            # Control records at the end are never delivered; the end of the partition counts them.
            self._next[tp] = max(self._next[tp], offset)
        elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            raise LostInputError(
                f"{tp.topic}/{tp.partition}: records from offset {self._next[tp]} on were deleted during the reading "
                "(retention). Verify again; raise retention.ms of the topic"
            )
        elif error.fatal() or not is_transient(error):
            raise KafkaException(error)


def _logs(history: JobHistory) -> frozenset[TopicPartition]:
    return frozenset({TopicPartition(history.ordering, 0), TopicPartition(history.commits, 0)})
