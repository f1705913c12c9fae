"""Checks now and then whether the job's own topics are as Tandem asks, and reports what is not. Nothing is fixed."""

from collections.abc import Callable, Sequence

from tandem.kafka.client import KafkaConnection
from tandem.kafka.topics import NewTopic, Topics
from tandem.logs import get_logger
from tandem.status.report import TopicDrift
from tandem.topics.checks import drift_of
from tandem.topics.periodic_check import EVERY_S, PeriodicCheck
from tandem.waiting import Deadline, wait_until

_log = get_logger(__name__)

_VISIBLE_S = 5.0
"""Brokers learn of a topic a moment after it was made."""


class TopicWatch(PeriodicCheck):
    """Checks at once and then every `every_s`.

    `declared` : the topics as they should be.
    `tell` : called after each look with all differences.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        declared: Sequence[NewTopic],
        tell: Callable[[tuple[TopicDrift, ...]], None],
        every_s: float = EVERY_S,
    ) -> None:
        super().__init__("topics", self._look_and_tell, every_s)
        self._connection, self._declared, self._tell = connection, declared, tell
        self._topics = Topics(connection)
        self._known: tuple[TopicDrift, ...] = ()

    def look(self) -> tuple[TopicDrift, ...]:
        """All differences; of a topic whose settings cannot be seen at the moment those that were seen last.

        Raises `KafkaException`, `TandemKafkaError`: it cannot be found out at the moment.
        """
        partitions = self._partitions()
        settings = self._topics.settings(partitions) if partitions else {}
        found = drift_of(self._declared, partitions, settings, self._connection)
        unseen = partitions.keys() - settings.keys()
        kept = (one for one in self._known if one.topic in unseen and one.setting not in ("", "partitions"))
        self._known = (*found, *kept)
        return self._known

    def _partitions(self) -> dict[str, int]:
        """Of the declared topics that are there."""
        wanted, there = {topic.name for topic in self._declared}, dict[str, int]()

        def all_there() -> bool:
            there.update(self._topics.all())
            return wanted <= there.keys()

        wait_until(all_there, Deadline(_VISIBLE_S), 0.5)
        return {name: count for name, count in there.items() if name in wanted}

    def _look_and_tell(self) -> None:
        before, now = self._known, self.look()
        for one in now:
            if one not in before:
                _log.warning("topic_drift", topic=one.topic, reason=one.difference, remedy=one.remedy)
        self._tell(now)
