"""Watching where the inputs end, and that nothing unread disappears at their beginning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from confluent_kafka import KafkaException

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import LostInputError, MissingTopicError, ReadTimeoutError, TandemKafkaError
from tandem.kafka.topics import Topics
from tandem.logs import get_logger
from tandem.protocol.values import Positions

_log = get_logger(__name__)

REFRESH_MS = 5_000.0


class InputWatch:
    """Where the inputs end now, for committed or for all records as each source asks.

    Parameters
    ----------
    isolation : topic → `read_committed` or `read_uncommitted`.
    """

    def __init__(self, connection: KafkaConnection, isolation: Mapping[str, str]) -> None:
        self._topics = Topics(connection, timeout_s=2.0)
        self._isolation = dict(isolation)
        self._partitions: dict[str, int] = {}
        self._refreshed_ms = -float("inf")

    def ends(self) -> Positions | None:
        """The end of every input partition; None while Kafka does not answer."""
        by_level: dict[str, dict[str, int]] = defaultdict(dict)
        for topic, count in self._partitions.items():
            by_level[self._isolation[topic]][topic] = count
        try:
            found = [self._topics.ends(topics, level) for level, topics in by_level.items()]
        except (KafkaException, ReadTimeoutError) as error:
            _log.warning("input_ends_unknown", reason=str(error))
            return None
        return Positions({tp: offset for positions in found for tp, offset in positions.items()})

    def refresh(self, read_up_to: Positions, now_ms: float) -> None:
        """Every few seconds: look for new partitions, and for input that retention deleted unread (`LostInputError`)."""
        if self._partitions and now_ms - self._refreshed_ms < REFRESH_MS:
            return
        try:
            partitions = self._topics.partitions(self._isolation)
            beginnings = self._topics.beginnings(partitions)
            ends = self._topics.ends(partitions, "read_uncommitted")
        except MissingTopicError:
            raise
        except (KafkaException, TandemKafkaError) as error:
            _log.warning("inputs_unknown", reason=str(error))
            return
        self._partitions, self._refreshed_ms = partitions, now_ms
        check_nothing_lost(read_up_to, beginnings, ends)


def check_nothing_lost(read_up_to: Positions, beginnings: Positions, ends: Positions) -> None:
    """Raise `LostInputError` if an input begins after the first record that was not read yet, or ends before it.

    It ends before it when the topic was made anew, or lost records in an unclean election: reading on at the same offset
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
                f"{tp.topic}/{tp.partition}: the job has read up to {position}, but the topic ends at {end}: it was made "
                "anew, or its broker lost records. Nothing was skipped: restore the topic, or start the job under a new name"
            )
