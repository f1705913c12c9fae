"""Says so when most records of a source become dead letters: each by itself is no fault, all together are one."""

import time
from collections.abc import Callable, Mapping

from tandem.intake.parsing import Counts
from tandem.logs import get_logger
from tandem.replica.lately import Lately, Reminders
from tandem.status.metrics import ReplicaMetrics

_log = get_logger(__name__)


class UnreadRecords:
    """Counts what sources had, for metrics, and warns.

    `topic` : where the dead letters are.
    `clock_s` : any monotonic clock, s.
    """

    def __init__(self, metrics: ReplicaMetrics, topic: str, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._metrics = metrics
        self._topic = topic
        self._clock_s = clock_s
        self._last: dict[str, Lately] = {}
        self._warnings = Reminders()

    def count(self, counts: Mapping[str, Counts]) -> None:
        """An epoch was computed: source → what it had."""
        now_s = self._clock_s()
        for source, its in counts.items():
            last = self._last.setdefault(source, Lately())
            last.add(its.records, its.letters, now_s)
            self._metrics.source(source, its.records, its.letters, last.mostly_bad)
            if not last.mostly_bad:
                if self._warnings.over(source):
                    _log.info("records_are_read_again", source=source)
            elif its.letters and self._warnings.is_due(source, now_s):
                self._warn(source, last, its.reason)

    def _warn(self, source: str, last: Lately, reason: str) -> None:
        _log.warning(
            "most_records_are_dead_letters",
            source=source,
            records=last.records,
            letters=last.bad,
            reason=reason,
            remedy=f"{last.bad} of the last {last.records} records of source {source} are not processed, but in the "
            f"topic {self._topic}, each with its reason. See whether the source's format and schema are its records'",
        )
