"""What librdkafka writes to its log, as lines of ours: each text once in 30 s, with how often it came meanwhile.

While no broker is there, a consumer writes up to 80 lines a second. librdkafka keeps them until its client is polled, so
one that may rest for long is made of `KafkaConnection.silent`.
"""

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tandem.logs import get_logger

_log = get_logger(__name__)

_THREAD: Final = re.compile(r"^\[thrd:.*?\]: ")
_TIMES: Final = re.compile(r" \(after \d+ms in state .*\)$|(?<=after )\d+ms|(?<=timeout #)\d+")


def without_times(text: str) -> str:
    """What librdkafka says, without how long something took, and how often it came."""
    return _TIMES.sub("", text)


@dataclass(slots=True)
class _Said:
    at_s: float
    since: int = 0


class Repeats:
    """Decides which lines pass: a text that has not passed for `every_s`. Pure.

    `most` : texts that are known apart; while there are more, all others count as one.
    """

    def __init__(self, every_s: float = 30.0, most: int = 200) -> None:
        self._every_s, self._most = every_s, most
        self._said: dict[str, _Said] = {}

    def passes(self, facility: str, text: str, now_s: float) -> int | None:
        """None: leave this line out; else how many like it were left out since one passed. How long it took counts not."""
        kind = self._known(f"{facility} {without_times(text)}", now_s)
        said = self._said.get(kind)
        if said is not None and now_s - said.at_s < self._every_s:
            said.since += 1
            return None
        self._said[kind] = _Said(now_s)
        return 0 if said is None else said.since

    def _known(self, kind: str, now_s: float) -> str:
        if kind in self._said or len(self._said) < self._most:
            return kind
        self._said = {one: said for one, said in self._said.items() if now_s - said.at_s < self._every_s}
        return kind if len(self._said) < self._most else ""


class ClientLog:
    """The `logger` of all Kafka clients of a process; they call it in whichever thread polls them.

    `clock_s` : any monotonic clock, s.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._repeats = Repeats()

    def log(self, level: int, _format: str, facility: str, client: str, text: str) -> None:
        """`level` : of Python's logging."""
        reason = _THREAD.sub("", text)
        with self._lock:
            repeated = self._repeats.passes(facility, reason, self._clock_s())
        if repeated is not None:
            again = {"repeated": repeated} if repeated else {}
            _log.log(level, "kafka_client", facility=facility, client=client, reason=reason, **again)


CLIENT_LOG: Final = ClientLog()
