"""Watching where the inputs end, that they are still the same topics, and that nothing unread disappears in them.

An open transaction holds back the records behind it: readers of committed records do not get them.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaException

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import (
    LostInputError,
    MissingTopicError,
    ReadTimeoutError,
    TandemKafkaError,
    TopicMismatchError,
)
from tandem.kafka.topic_ids import cause_of, check_same, ids_of
from tandem.kafka.topics import Topics
from tandem.logs import get_logger
from tandem.protocol.succession import other_topics
from tandem.protocol.values import Offsets, TopicIds, TopicPartition
from tandem.status.report import HeldInput

_log = get_logger(__name__)

LASTING_MS = 10_000.0
"""Transactions that come and go hold back nothing for long: the last stable offset moves."""
_EVERY_MS = 60_000.0


@dataclass(slots=True)
class _Since:
    offset: int
    since_ms: float
    logged_ms: float | None = None


_MOST: Final = 256
"""So many of them are reported: reports and metrics are bounded."""


class HeldInputs:
    """Follows the last stable offsets; logs what stands still for long, at first and then once a minute."""

    def __init__(self) -> None:
        self._since: dict[TopicPartition, _Since] = {}
        self.lasting: tuple[HeldInput, ...] = ()

    def look(self, stable: Offsets, ends: Offsets, now_ms: float) -> None:
        """`stable`: where what can be read ends; `ends`: where the log ends. `stable` must have been asked after `ends`."""
        lasting = []
        for tp, offset in stable.items():
            records = ends.get(tp, offset) - offset
            known = self._since.get(tp)
            if known is not None and (records <= 0 or known.offset != offset):
                self._goes_on(tp, known)
                known = None
            if records > 0 and known is None:
                self._since[tp] = _Since(offset, now_ms)
            elif records > 0 and known is not None and now_ms - known.since_ms >= LASTING_MS:
                held = HeldInput(tp.topic, tp.partition, offset, records, round((now_ms - known.since_ms) / 1_000, 1))
                lasting.append(held)
                _warn(held, known, now_ms)
        self.lasting = tuple(sorted(lasting, key=lambda one: -one.seconds)[:_MOST])

    def _goes_on(self, tp: TopicPartition, known: _Since) -> None:
        del self._since[tp]
        if known.logged_ms is not None:
            _log.info("input_goes_on", topic=tp.topic, partition=tp.partition, offset=known.offset)


def _warn(held: HeldInput, known: _Since, now_ms: float) -> None:
    if known.logged_ms is not None and now_ms - known.logged_ms < _EVERY_MS:
        return
    known.logged_ms = now_ms
    _log.warning(
        "input_held_back",
        topic=held.topic,
        partition=held.partition,
        offset=held.offset,
        records=held.records,
        for_s=round(held.seconds),
        reason=held.words,
    )


REFRESH_MS = 5_000.0
AGAIN_MS = 1_000.0
PATIENCE_MS = 30_000.0
"""So long an input of a running job may be missing, or have partitions that lanes cannot divide: a broker that starts does
not know of all topics and partitions yet."""
SAME_MS = 250.0
"""A cut relies on a look at the topics' ids that is at most so old."""


ReadOf = Callable[[Mapping[str, int]], Mapping[str, range]]


def whole_topics(inputs: Mapping[str, int]) -> dict[str, range]:
    """All partitions of topics with so many."""
    return {topic: range(count) for topic, count in inputs.items()}


class InputWatch:
    """Where the inputs end now, for committed or for all records as each source asks.

    `isolation` : topic → `read_committed` or `read_uncommitted`.
    `read_of` : which partitions are read of topics with so many.
    """

    def __init__(
        self, connection: KafkaConnection, isolation: Mapping[str, str], read_of: ReadOf = whole_topics
    ) -> None:
        self._read_of = read_of
        self._topics = Topics(connection, timeout_s=2.0)
        self._isolation = dict(isolation)
        self._partitions: dict[str, int] = {}
        self.partitions: tuple[TopicPartition, ...] = ()
        """Those that are read, as found at the last look."""
        self._next_ms = -float("inf")
        self._missing_since: float | None = None
        self._same_ms, self._same = -float("inf"), True
        self._checked: Offsets | None = None
        self._held = HeldInputs()
        self._log_ends = Offsets()
        self.topic_ids: TopicIds = ()
        """Of the inputs, as found at the last look."""

    def ends(self) -> Offsets | None:
        """The end of every input partition; None while Kafka does not answer."""
        try:
            return self._ends_as_read()
        except (KafkaException, ReadTimeoutError) as error:
            _log.warning("input_ends_unknown", reason=str(error))
            return None

    def waiting(self, available: Offsets, last: Offsets) -> int:
        """Records behind `last`: those that can be read (to `available`), and those behind an open transaction."""
        ends = {tp: max(end, self._log_ends.get(tp, end)) for tp, end in available.items()}
        return Offsets(ends).records_since(last)

    @property
    def held(self) -> tuple[HeldInput, ...]:
        """The partitions in which a transaction holds back what stands behind it, as of the last refresh."""
        return self._held.lasting

    def are_same(self, known: TopicIds, now_ms: float) -> bool:
        """Whether the inputs are the topics that the log knows, by a look that is not old; False: nobody can say now.

        To be asked after `ends`: ends of a topic that was created since are not those of the one that the log knows.
        Raises `RecreatedTopicError`.
        """
        if known and now_ms - self._same_ms >= SAME_MS:
            self._same_ms, self._same = now_ms, self._looks_same(known)
        return self._same

    def _looks_same(self, known: TopicIds) -> bool:
        try:
            found = dict(check_same(self._topics, known))
        except (KafkaException, ReadTimeoutError) as error:
            _log.warning("inputs_unknown", reason=str(error))
            return False
        # One that is not there just now may come back as another; `refresh` ends this if it does not come back.
        return all(topic in found for topic, _ in known if topic in self._isolation)

    def cause_of(self, loss: LostInputError, known: TopicIds) -> LostInputError:
        """Why records are lost: see `topic_ids.cause_of`."""
        return cause_of(loss, self._topics, known)

    def refresh(self, read_up_to: Offsets, now_ms: float, known: TopicIds = ()) -> None:
        """Every few seconds: look for new partitions, and for what is not there any more.

        Raises `LostInputError` for input that retention deleted unread, and for topics that were created again;
        `MissingTopicError` for a topic that is not there, and `TopicMismatchError` for one whose partitions lanes cannot
        divide: at once at the first look, later after half a minute; `TopicMismatchError` for a manifest with other inputs.
        """
        if read_up_to is not self._checked:
            check_same_inputs(read_up_to, self._isolation)
            self._checked = read_up_to
        if now_ms < self._next_ms:
            return
        self._next_ms = now_ms + AGAIN_MS
        try:
            partitions = self._topics.partitions(self._isolation)
            self._check_partitions(partitions, read_up_to)
            found = check_same(self._topics, known) if known else ids_of(self._topics, self._isolation)
            read = self._read_of(partitions)
            beginnings = self._topics.beginnings(read)
            ends = self._topics.ends(read, "read_uncommitted")
            self._partitions = partitions
            self.partitions = tuple(TopicPartition(topic, one) for topic, these in read.items() for one in these)
            stable = self._ends_as_read()
        except (MissingTopicError, TopicMismatchError) as error:
            self._is_unfit(error, now_ms)
            return
        except LostInputError:
            raise
        except (KafkaException, TandemKafkaError) as error:
            _log.warning("inputs_unknown", reason=str(error))
            return
        if self._missing_since is not None:
            _log.info("input_there_again", topics=sorted(partitions))
        self._missing_since, self._next_ms = None, now_ms + REFRESH_MS
        self.topic_ids, self._log_ends = found, ends
        self._held.look(stable, ends, now_ms)
        check_nothing_lost(read_up_to, beginnings, ends)

    def _check_partitions(self, partitions: Mapping[str, int], read_up_to: Offsets) -> None:
        """Raise `MissingTopicError` if there are fewer than there were: Kafka never removes any from a topic."""
        known = dict(self._partitions)
        for tp in read_up_to:
            known[tp.topic] = max(known.get(tp.topic, 0), tp.partition + 1)
        for topic, count in sorted(partitions.items()):
            if count < known.get(topic, 0):
                raise MissingTopicError(
                    f"topic {topic} has {count} partitions, but the job has read {known[topic]}: it was deleted and created "
                    "again. Nothing was skipped: restore the topic with its records, or give the job another metadata.name"
                )

    def _is_unfit(self, error: MissingTopicError | TopicMismatchError, now_ms: float) -> None:
        if not self._partitions:
            raise error
        since = self._missing_since = now_ms if self._missing_since is None else self._missing_since
        if now_ms - since >= PATIENCE_MS:
            raise error
        event = "input_missing" if isinstance(error, MissingTopicError) else "input_unfit"
        _log.warning(event, reason=str(error), for_s=round((now_ms - since) / 1_000), refused_after_s=30)

    def _ends_as_read(self) -> Offsets:
        by_level: dict[str, dict[str, int]] = defaultdict(dict)
        for topic, count in self._partitions.items():
            by_level[self._isolation[topic]][topic] = count
        found = [self._topics.ends(self._read_of(topics), level) for level, topics in by_level.items()]
        return Offsets({tp: offset for positions in found for tp, offset in positions.items()})


def check_same_inputs(read_up_to: Offsets, topics: Collection[str]) -> None:
    """Raise `TopicMismatchError` if these are not the topics that the log has positions of.

    Such a cut would be in the log for good, and no replica of the job could compute it.
    """
    if read_up_to and (changes := other_topics({tp.topic for tp in read_up_to}, topics)):
        raise TopicMismatchError(
            f"the manifest has other inputs than the job: {changes}. A job keeps its inputs: change spec.sources back, or "
            "give the changed job another metadata.name, with new topics of its own"
        )


def check_nothing_lost(read_up_to: Offsets, beginnings: Offsets, ends: Offsets) -> None:
    """Raise `LostInputError` if an input begins after the first record that was not read yet, or ends before it.

    It ends before it when the topic was created again, or lost records in an unclean election: reading on at the same offset
    would skip what stands there now.
    """
    for tp, position in read_up_to.items():
        beginning, end = beginnings.get(tp, position), ends.get(tp, position)
        if beginning > position:
            raise LostInputError(
                f"{tp.topic}/{tp.partition}: records {position} to {beginning - 1} were deleted before the job read them "
                "(retention of the topic). Nothing was skipped: restore the records, or start the job under a new name; "
                "then raise retention.ms of the topic"
            )
        if end < position:
            raise LostInputError(
                f"{tp.topic}/{tp.partition}: the job has read up to {position}, but the topic ends at {end}: it was "
                "made again, or its broker lost records. Nothing was skipped: restore the topic, or start the job under a "
                "new name"
            )
