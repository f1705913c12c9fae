"""What librdkafka writes to its log, as lines of ours: each text once in 30 s, with how often it came meanwhile.

While no broker is there, a consumer writes up to 80 lines a second. librdkafka keeps them until its client is polled, so
one that may rest for long is made of `KafkaConnection.silent`.
"""

import re
import threading
import time
from collections.abc import Callable
from typing import Final

from tandem.logs import Repeats, get_logger

_log = get_logger(__name__)

_THREAD: Final = re.compile(r"^\[thrd:.*?\]: ")
_TIMES: Final = re.compile(r" \(after \d+ms in state .*\)$|(?<=after )\d+ms|(?<=timeout #)\d+")


def without_times(text: str) -> str:
    """What librdkafka says, without how long something took, and how often it came."""
    return _TIMES.sub("", text)


class ClientLog:
    """The `logger` of all Kafka clients of a process; they call it in whichever thread polls them.

    `clock_s` : any monotonic clock, s.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._repeats = Repeats(same=without_times)

    def log(self, level: int, _format: str, facility: str, client: str, text: str) -> None:
        """`level` : of Python's logging."""
        reason = _THREAD.sub("", text)
        with self._lock:
            repeated = self._repeats.passes(facility, reason, self._clock_s())
        if repeated is not None:
            again = {"repeated": repeated} if repeated else {}
            _log.log(level, "kafka_client", facility=facility, client=client, reason=reason, **again)


CLIENT_LOG: Final = ClientLog()
