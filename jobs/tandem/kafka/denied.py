"""Inputs that the account may not read: patience first, since rights may be unknown for a moment, then one error."""

import time
from collections.abc import Callable
from typing import Final

from confluent_kafka import KafkaError

from tandem.kafka.errors import NotAllowedError
from tandem.logs import get_logger

_log = get_logger(__name__)

PATIENCE_S: Final = 30.0


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

    def check(self) -> None:
        """Raise `NotAllowedError` if a topic is refused for longer than a moment."""
        for topic, since_s in self._since_s.items():
            if self._clock_s() - since_s > PATIENCE_S:
                raise NotAllowedError(_in_words(topic))


def _in_words(topic: str) -> str:
    return (
        f"the account may not read topic {topic} (TOPIC_AUTHORIZATION_FAILED). Give it the rights Read and Describe on the "
        "topic, and start the job again. Nothing was skipped"
    )
