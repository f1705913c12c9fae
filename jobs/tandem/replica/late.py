"""Says so when rows come too late for their watermark: Spark drops them, and nothing else shows it."""

from __future__ import annotations

import time
from collections.abc import Callable

from tandem.logs import get_logger
from tandem.replica.lately import Lately, Reminders
from tandem.status.metrics import ReplicaMetrics

_log = get_logger(__name__)


class LateRows:
    """Counts rows that came too late, for metrics, and warns. An operator that aggregates drops groups of rows as one.

    Parameters
    ----------
    clock_s : any monotonic clock, s.
    """

    def __init__(self, metrics: ReplicaMetrics, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._metrics = metrics
        self._clock_s = clock_s
        self._last = Lately()
        self._said = Reminders()

    def count(self, records: int, late: int) -> None:
        """An epoch of so many records was computed; so many rows of it came too late."""
        now_s = self._clock_s()
        self._last.add(records, late, now_s)
        mostly = self._last.mostly_bad
        if late:
            self._metrics.late_rows.inc(late)
        self._metrics.mostly_late.set(mostly)
        if late and self._said.is_due(mostly, now_s):
            self._tell(mostly)

    def _tell(self, mostly: bool) -> None:
        if not mostly:
            _log.info("rows_came_too_late", rows=self._last.bad, records=self._last.records)
            return
        _log.warning(
            "most_rows_come_too_late",
            rows=self._last.bad,
            records=self._last.records,
            remedy="they are behind the watermark, and dropped. A record with a time in the future moves a watermark there "
            "for good: keep such records from it, e.g. events.where(col('at') <= ctx.epoch_time() + expr('interval 5 "
            "minutes')) before withWatermark, and let the changed job go on under another metadata.name; or give the "
            "watermark a longer delay",
        )
