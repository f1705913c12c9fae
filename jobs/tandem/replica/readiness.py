"""Whether a replica has reached the log's head, and how far behind it is: metrics, log lines, `ready`."""

from __future__ import annotations

import time

from tandem.metrics import ReplicaMetrics
from tandem.protocol.catching_up import Standing
from tandem.protocol.decisions import Decisions
from tandem.replica.catching_up import CatchUpLog
from tandem.replica.progress import CatchUp

_NOT_READY_EPOCHS = 20
"""A replica this far behind would not mask a failure of the others at once."""
_IDLE_MS = 3_000.0
"""A replica that has had nothing to compute for so long since its start is at the head: nobody cuts."""


class Readiness:
    """Follows `catch_up` and the decisions. Times are ms of one monotonic clock; `began_ms`: when the replica began.

    `ready` : whether the head was reached, and the replica has neither fallen far behind nor stood still since.
    """

    def __init__(self, metrics: ReplicaMetrics, catch_up: CatchUp, began_ms: float) -> None:
        self.ready = False
        metrics.epoch.set(catch_up.last_computed)  # what was restored: there may be no other for a long time
        self._metrics = metrics
        self._catch_up = catch_up
        self._log = CatchUpLog(metrics)
        self._began_ms = began_ms
        self._due_s: float | None = None  # when the oldest epoch was cut that is to be computed, Unix, s

    @property
    def proved_epoch(self) -> int | None:
        """The last epoch computed; None while nothing shows that this replica can go on from its state."""
        return self._catch_up.last_computed if self._catch_up.has_computed or self.ready else None

    def news(self, decisions: Decisions) -> None:
        """An epoch was computed, or a proposal accepted."""
        epochs = max(0, decisions.last_epoch - self._catch_up.last_computed)  # the engine may have read the cut first
        self._show_lag(epochs, decisions)
        if epochs <= 1 and self._catch_up.has_computed:
            self._is(True)
        elif epochs >= _NOT_READY_EPOCHS:
            self._is(False)

    def _show_lag(self, epochs: int, decisions: Decisions) -> None:
        due = decisions.epoch_range(self._catch_up.last_computed + 1)  # the oldest that is to be computed
        self._metrics.lag_epochs.set(epochs)
        self._metrics.lag_records.set(0 if due is None else decisions.last_ends.records_since(due.starts))
        self._due_s = None if due is None else due.time_ms / 1000
        self._show_age()

    def _show_age(self) -> None:
        """An epoch that nobody computes grows older also while there are no news."""
        self._metrics.lag_seconds.set(0.0 if self._due_s is None else max(0.0, time.time() - self._due_s))

    def look(self, head: int, has_read_all: bool, now_ms: float) -> None:
        """Called often. `head`: the last epoch that was cut; `has_read_all`: as far as known nothing is left to read."""
        self._show_age()
        is_idle = has_read_all and now_ms - self._began_ms > _IDLE_MS
        if is_idle and self._catch_up.last_computed >= head:
            self._is(True)
        if self._catch_up.stands_still(head, now_ms):
            self._is(False)
        self._log.look(Standing(now_ms, self._catch_up.last_computed, head), self.ready)

    def _is(self, ready: bool) -> None:
        self.ready = ready
        self._metrics.ready.set(ready)
