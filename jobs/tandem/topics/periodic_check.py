"""Threads that look at something now and then, beside a job that goes on whatever they find: one of them, whether the inputs
are still the topics that this replica reads.
"""

from collections.abc import Callable

from confluent_kafka import KafkaException

from tandem.background import Background
from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import RecreatedTopicError, TandemKafkaError
from tandem.kafka.topic_ids import check_same
from tandem.kafka.topics import Topics
from tandem.logs import get_logger
from tandem.protocol.values import TopicIds
from tandem.waits import Task

_log = get_logger(__name__)

EVERY_S = 60.0


class PeriodicCheck(Background):
    """Checks at once and then every `every_s`; one that fails is logged as `<what>_unknown`, and nothing else happens."""

    def __init__(self, what: str, look: Callable[[], None], every_s: float = EVERY_S, task: Task | None = None) -> None:
        super().__init__(what)
        self._what = what
        self._task = task or Task()
        self._look = look
        self._every_s = every_s

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._task.begins(f"a look at the {self._what}")
            try:
                self._look()
            except (KafkaException, TandemKafkaError, ValueError, OSError) as error:
                _log.info(f"{self._what}_unknown", reason=str(error))
            except Exception as error:  # of a store, or a flaw: nothing here may stop the job
                _log.warning(f"{self._what}_unknown", reason=repr(error))
            self._task.ends()
            self._stopped.wait(self._every_s)


_INPUTS_EVERY_S = 5.0


class SameInputs(PeriodicCheck):
    """Checks at once and then every `every_s`, until `stop`.

    `known` : the inputs' ids as they were when this replica began.
    `on_failure` : is given the `RecreatedTopicError` if an input was found to be another topic.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        known: TopicIds,
        on_failure: Callable[[RecreatedTopicError], None],
        every_s: float = _INPUTS_EVERY_S,
    ) -> None:
        super().__init__("inputs", self._compare, every_s)
        self._topics = Topics(connection)
        self._known = known
        self._on_failure = on_failure

    def _compare(self) -> None:
        try:
            check_same(self._topics, self._known)
        except RecreatedTopicError as error:
            self._on_failure(error)
            self.stop()
