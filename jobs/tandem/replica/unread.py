"""Says so when most records of a source become dead letters: each by itself is no fault, all together are one."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tandem.intake.parsing import Counts
from tandem.logs import get_logger
from tandem.status.metrics import ReplicaMetrics

_log = get_logger(__name__)

_WINDOW_S: Final = 60.0
_FEWEST: Final = 10
"""So many records are looked back at, however old they are; and so many letters are a pattern."""
_MOST: Final = 0.5
_AGAIN_S: Final = 600.0


@dataclass(slots=True)
class LastRecords:
    """What became of a source's last records: those of a minute, or a few more. Pure."""

    records: int = 0
    letters: int = 0
    _epochs: deque[tuple[float, Counts]] = field(default_factory=deque)

    def add(self, counts: Counts, now_s: float) -> None:
        """Another epoch was computed."""
        self._epochs.append((now_s, counts))
        self.records += counts.records
        self.letters += counts.letters
        while now_s - self._epochs[0][0] > _WINDOW_S and self.records - self._epochs[0][1].records >= _FEWEST:
            _, oldest = self._epochs.popleft()
            self.records -= oldest.records
            self.letters -= oldest.letters

    @property
    def mostly_letters(self) -> bool:
        """Whether an operator should look at it."""
        return self.letters >= _FEWEST and self.letters > _MOST * self.records


class UnreadRecords:
    """Counts what sources had, for metrics, and warns.

    `topic` : where the dead letters are.
    `clock_s` : any monotonic clock, s.
    """

    def __init__(self, metrics: ReplicaMetrics, topic: str, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._metrics = metrics
        self._topic = topic
        self._clock_s = clock_s
        self._last: dict[str, LastRecords] = {}
        self._warned_s: dict[str, float] = {}

    def count(self, counts: Mapping[str, Counts]) -> None:
        """An epoch was computed: source → what it had."""
        now_s = self._clock_s()
        for source, its in counts.items():
            last = self._last.setdefault(source, LastRecords())
            last.add(its, now_s)
            self._metrics.source(source, its.records, its.letters, last.mostly_letters)
            if not last.mostly_letters:
                if self._warned_s.pop(source, None) is not None:
                    _log.info("records_are_read_again", source=source)
            elif its.letters and now_s - self._warned_s.get(source, -_AGAIN_S) >= _AGAIN_S:
                self._warned_s[source] = now_s
                self._warn(source, last, its.reason)

    def _warn(self, source: str, last: LastRecords, reason: str) -> None:
        _log.warning(
            "most_records_are_dead_letters",
            source=source,
            records=last.records,
            letters=last.letters,
            reason=reason,
            remedy=f"{last.letters} of the last {last.records} records of source {source} are not processed, but in the "
            f"topic {self._topic}, each with its reason. See whether the source's format and schema are its records'",
        )
