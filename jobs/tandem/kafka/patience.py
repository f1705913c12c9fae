"""Patience with topics that are not there, since a broker that starts does not know of all yet, and with inputs that the
account may not read, since rights may be unknown for a moment.
"""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Final

from confluent_kafka import KafkaError, KafkaException

from tandem.kafka.errors import MissingTopicError, NotAllowedError, TandemKafkaError
from tandem.kafka.topics import Topics
from tandem.logs import get_logger

_log = get_logger(__name__)

PATIENCE_S: Final = 30.0
AGAIN_S: Final = 2.0
"""How long a new reader is given before the next one."""
_TOLD_AFTER_S: Final = 3.0
_ASKED_EVERY_S: Final = 5.0
_CODES: Final = (KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION, KafkaError.UNKNOWN_TOPIC_OR_PART)


def is_absence(error: KafkaError) -> bool:
    """Whether an error says that a topic or a partition is not there. librdkafka's reader of it has ended then."""
    return error.code() in _CODES


class Absences:
    """The topics of a reader that are not there at the moment.

    `patience_s` : how long one may be away before it is refused.
    `clock_s` : any monotonic clock, s.
    """

    def __init__(
        self, topics: Topics, patience_s: float = PATIENCE_S, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._topics, self._patience_s, self._clock_s = topics, patience_s, clock_s
        self._since_s: dict[str, float] = {}
        self._told: set[str] = set()
        self._asked_s = -float("inf")

    @property
    def are_some(self) -> bool:
        """Whether a topic is away: else nothing is to be done while none is missed."""
        return bool(self._since_s)

    def missed(self, topics: Collection[str]) -> None:
        """The reader says that the brokers do not know these topics of it.

        Raises `MissingTopicError` if one has been away for too long. While the brokers do not answer at all, nobody knows.
        """
        now = self._clock_s()
        for topic in topics:
            since = self._since_s.setdefault(topic, now)
            if now - since >= _TOLD_AFTER_S and topic not in self._told:
                _log.warning("log_missing", topic=topic, refused_after_s=round(self._patience_s))
                self._told.add(topic)
        if now - min(self._since_s.values(), default=now) >= self._patience_s and now - self._asked_s >= _ASKED_EVERY_S:
            self._asked_s = now
            self._refuse()

    def seen(self, topic: str) -> None:
        """The topic is there."""
        if self._since_s.pop(topic, None) is not None and topic in self._told:
            _log.info("log_there_again", topic=topic)
            self._told.discard(topic)

    def _refuse(self) -> None:
        try:
            missing = sorted(self._since_s.keys() - self._topics.all().keys())
        except (KafkaException, TandemKafkaError) as error:
            _log.warning("logs_unknown", topics=sorted(self._since_s), reason=str(error))
            return
        if missing:
            raise MissingTopicError(
                f"topic {', '.join(missing)}, a log that the job has written, has not been there for "
                f"{self._patience_s:.0f} s: it was deleted. The job cannot go on without it: restore it with its records, "
                "or give the job another metadata.name, so that it begins again"
            )


def is_denied(error: KafkaError) -> bool:
    """Whether a consumer was refused for missing rights. It tries again by itself, and reports that only once."""
    return bool(error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED)


class Denied:
    """The topics that were refused last.

    `clock_s` : any monotonic clock, s.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._since_s: dict[str, float] = {}

    def add(self, topic: str) -> None:
        """A read of `topic` was refused."""
        if topic not in self._since_s:
            self._since_s[topic] = self._clock_s()
            _log.warning("input_not_allowed", topic=topic, refused_after_s=round(PATIENCE_S), reason=_in_words(topic))

    def over(self, topic: str) -> None:
        """Something of `topic` was read."""
        if self._since_s and self._since_s.pop(topic, None) is not None:
            _log.info("input_allowed_again", topic=topic)

    def check(self, waited_s: Mapping[str, float] | None = None) -> None:
        """Raise `NotAllowedError` if a topic is refused, and waited for, for longer than a moment.

        `waited_s` : topic → since when, of those that are waited for; None: all are. Only a record shows that a right is
        back, and an idle topic has none.
        """
        for topic, since_s in self._since_s.items():
            from_s = since_s if waited_s is None else max(since_s, waited_s.get(topic, float("inf")))
            if self._clock_s() - from_s > PATIENCE_S:
                raise NotAllowedError(_in_words(topic))


def _in_words(topic: str) -> str:
    return (
        f"the account may not read topic {topic} (TOPIC_AUTHORIZATION_FAILED). Give it the rights Read and Describe on the "
        "topic, and start the job again. Nothing was skipped"
    )
