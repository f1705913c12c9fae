"""What brokers refuse at the moment, as it is shown on screens and in reports; forgotten when it is over."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence

from confluent_kafka import KafkaException
from prometheus_client import Gauge

from tandem.kafka.client import KafkaConnection
from tandem.kafka.errors import TandemKafkaError
from tandem.kafka.refusals import Failure
from tandem.kafka.topics import Topics
from tandem.kafka.troubles import (
    TRANSACTIONS,
    findings,
    in_words,
    quota_in_words,
    rights_in_words,
    says_nothing,
)
from tandem.logs import get_logger

_log = get_logger(__name__)

_SHOWN_AFTER_S = 5.0
_LOOK_EVERY_S = 2.0
_LOOK_TIMEOUT_S = 3.0
_LEAST_THROTTLE_S = 0.5
_THROTTLE_SHOWN_S = 15.0


def look_at(connection: KafkaConnection, names: Callable[[], Iterable[str]]) -> Callable[[], Sequence[str]]:
    """PeriodicCheck at topics: why they take no records. `names` : which."""
    topics: list[Topics] = []

    def look() -> Sequence[str]:
        if not topics:
            topics.append(Topics(connection, _LOOK_TIMEOUT_S))
        written = sorted(set(names()))
        there, settings = topics[0].states(written), topics[0].settings(written)
        refused = topics[0].not_writable(set(there) - {TRANSACTIONS})
        return (*map(rights_in_words, sorted(refused)), *findings(written, there, settings))

    return look


class Troubles:
    """What is refused, by what was tried. All methods may be called from any thread, and none waits.

    While there is trouble, a thread looks what is the matter with the topics, since a producer only says that it got no
    answer in time.

    `look` : what is the matter, each finding with what to do. Raises `KafkaException`, `TandemKafkaError`: no answer.
    `gauge` : 1 while there is trouble.
    `clock_s` : any monotonic clock, s.
    """

    def __init__(
        self, look: Callable[[], Sequence[str]], gauge: Gauge, clock_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._look = look
        self._clock_s = clock_s
        gauge.set_function(lambda: float(bool(self.words)))
        self._lock = threading.Lock()
        self._reasons: dict[str, str] = {}
        self._since_s: float | None = None
        self._found: tuple[str, ...] = ()
        self._is_watched = False
        self._throttle = (0.0, "")
        self._wake = threading.Event()
        self.poke: Callable[[], None] = lambda: None
        """Called again and again while there is trouble, so that its end is noticed."""

    def failed(self, what: str, failures: Sequence[Failure]) -> None:
        """`what` was refused, or not answered."""
        named = [one for one in failures if not says_nothing(one.error)]
        reason = next((in_words(one.error, one.record.topic if one.record else "") for one in reversed(named)), "")
        self.failed_as(what, reason)

    def failed_as(self, what: str, reason: str) -> None:
        """`what` was refused for a reason in words; "": nobody said why."""
        with self._lock:
            is_news = self._reasons.get(what) != reason
            self._reasons[what] = reason
            if self._since_s is None:
                self._since_s = self._clock_s()
            watches, self._is_watched = self._is_watched, True
        if is_news:
            _log.warning("refused_by_kafka", what=what, reason=reason or "nobody answered in time")
        if not watches:
            threading.Thread(target=self._watch, name="troubles", daemon=True).start()

    def over(self, what: str) -> None:
        """`what` succeeded."""
        if not self._reasons:
            return
        with self._lock:
            self._reasons.pop(what, None)
            if self._reasons:
                return
            self._since_s, self._found = None, ()
        self._wake.set()
        _log.info("refused_by_kafka_no_more", what=what)

    def throttled(self, broker: str, seconds: float) -> None:
        """`broker` holds requests back for so long, because of a quota."""
        if seconds >= _LEAST_THROTTLE_S:
            self._throttle = (self._clock_s() + seconds + _THROTTLE_SHOWN_S, quota_in_words(broker, seconds))

    @property
    def words(self) -> str:
        """What is refused for longer than a moment, or held back, why, and what to do; "": nothing."""
        until_s, held_back = self._throttle
        return "; ".join(filter(None, (self._refused(), held_back if self._clock_s() < until_s else "")))

    def _refused(self) -> str:
        with self._lock:
            if self._since_s is None or self._clock_s() - self._since_s < _SHOWN_AFTER_S:
                return ""
            named = tuple(dict.fromkeys(reason for reason in self._reasons.values() if reason))
            causes = (*self._found, *named) or ("nobody answers in time. See the brokers, and the network to them",)
            return f"Kafka does not take the {' and the '.join(self._reasons)}: {'; '.join(causes)}"

    def _watch(self) -> None:
        while True:
            with self._lock:
                if not self._reasons:
                    self._is_watched = False
                    return
            found: tuple[str, ...]
            try:
                found = tuple(self._look())
            except (KafkaException, TandemKafkaError) as error:
                found = (str(error),)
            except Exception as error:  # of what looks; without this thread nothing would look again
                _log.warning("troubles_unknown", reason=repr(error))
                found = ()
            with self._lock:
                self._found = found if self._reasons else ()
            try:
                self.poke()
            except Exception as error:
                _log.warning("troubles_not_poked", reason=repr(error))
            self._wake.wait(_LOOK_EVERY_S)
            self._wake.clear()
