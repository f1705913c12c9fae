"""Looks now and then whether the inputs are still the topics that this replica reads, beside the orderer that cuts them."""

from __future__ import annotations

from collections.abc import Callable

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import RecreatedTopicError
from tandem.kafka.topic_ids import check_same
from tandem.kafka.topics import Topics
from tandem.protocol.values import TopicIds
from tandem.topics.looks import Looks

EVERY_S = 5.0


class SameInputs:
    """A thread that looks at once and then every `every_s`, until `stop`.

    Parameters
    ----------
    known : the inputs' ids as they were when this replica began.
    on_failure : is given the `RecreatedTopicError` if an input was found to be another topic.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        known: TopicIds,
        on_failure: Callable[[RecreatedTopicError], None],
        every_s: float = EVERY_S,
    ) -> None:
        self._topics = Topics(connection)
        self._known = known
        self._on_failure = on_failure
        self._looks = Looks("inputs", self._look, every_s)

    def start(self) -> None:
        """Begin to look."""
        self._looks.start()

    def stop(self) -> None:
        """Look no more; a look under way ends by itself."""
        self._looks.stop()

    def _look(self) -> None:
        try:
            check_same(self._topics, self._known)
        except RecreatedTopicError as error:
            self._on_failure(error)
            self._looks.stop()
