"""How far a replica is behind, and when it tells the orderers so that they leave it room."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from tandem.protocol.decisions import Decisions
from tandem.protocol.timeouts import Stopwatch
from tandem.protocol.values import LagReport


class TooFarBehindError(Exception):
    """This replica does not catch up: it had better start again from newer state."""


_LEAST_EPOCH_MS = 0.1


class Distance(NamedTuple):
    """From the last epoch that a replica has computed to the log's head: `epochs`, and `ms` of their own times.

    The time is that between the cuts of the first epoch that is missing and the last: in a job that was idle it is not long.
    It stands still while the clock of who cuts is behind, so an epoch counts as a tenth of a ms at least.
    """

    epochs: int
    ms: float = 0.0

    @classmethod
    def of(cls, decisions: Decisions, computed: int) -> Distance:
        """The distance of a replica that has computed `computed` last."""
        epochs = decisions.last_epoch - computed
        if epochs <= 1:
            return cls(max(0, epochs))
        first, last = decisions.epoch_range(computed + 1), decisions.epoch_range(decisions.last_epoch)
        ms = 0 if first is None or last is None else last.time_ms - first.time_ms
        return cls(epochs, max(ms, _LEAST_EPOCH_MS * (epochs - 1)))


@dataclass(frozen=True, slots=True)
class Near:
    """How near is near. A replica is beyond a bound if it is beyond it in epochs, and as long behind.

    The defaults are for micro-batches, which take some ten or hundred ms: there epochs alone tell. Under the real-time
    engine a replica that turns over, or collects garbage, is a hundred epochs behind for a moment.

    Parameters
    ----------
    head_ms : at the head is who has computed all but one epoch, or all but the last `head_ms`.
    lagging_epochs, lagging_ms : who lags asks for room.
    not_ready_epochs, not_ready_ms : who is so far behind would not mask a failure of the others at once.
    hopeless_epochs, hopeless_ms : who is so far behind, and comes no nearer, starts again from another's state.
    """

    head_ms: float = 0.0
    lagging_epochs: int = 3
    lagging_ms: float = 0.0
    not_ready_epochs: int = 20
    not_ready_ms: float = 0.0
    hopeless_epochs: int = 300
    hopeless_ms: float = 0.0

    def is_at_head(self, distance: Distance) -> bool:
        """Whether nothing is to be caught up."""
        return distance.epochs <= 1 or distance.ms < self.head_ms

    def lags(self, distance: Distance) -> bool:
        """Whether the others had better leave room."""
        return distance.epochs >= self.lagging_epochs and distance.ms >= self.lagging_ms

    def is_far(self, distance: Distance) -> bool:
        """Whether it is too far behind to be ready."""
        return distance.epochs >= self.not_ready_epochs and distance.ms >= self.not_ready_ms

    def is_hopeless(self, distance: Distance) -> bool:
        """Whether newer state of others would be nearer, if it comes no nearer by itself."""
        return distance.epochs >= self.hopeless_epochs and distance.ms >= self.hopeless_ms


REAL_TIME = Near(head_ms=25.0, lagging_ms=300.0, not_ready_ms=1_000.0, hopeless_ms=10_000.0)
"""For epochs of a millisecond."""


class CatchUp:
    """Times this replica's epochs; reports every `every_ms` from when it lags until it has caught up.

    Before it was at the head once, it lags as soon as it is not there: one that is as fast as the others would stay two
    epochs behind them.

    One that lags and has computed nothing for `still_ms`, or three times its longest epoch if that is more, stands still.
    A replica that is hopelessly far behind and comes no nearer in `patience_ms` starts again from another's state.
    """

    def __init__(
        self,
        replica: str,
        last_computed: int,
        near: Near = Near(),
        every_ms: float = 250.0,
        patience_ms: float = 60_000.0,
        still_ms: float = 5_000.0,
    ) -> None:
        self.last_computed = last_computed
        self.near = near
        self._replica = replica
        self._every_ms = every_ms
        self._patience_ms = patience_ms
        self._still_ms = still_ms
        self._far_since: tuple[float, int] | None = None  # since when (ms), and how far it was at most
        self._behind = Stopwatch()  # so far that it lags
        self._durations: deque[float] = deque(maxlen=16)
        self._last_ms: float | None = None
        self._next_was_there = False  # when the last epoch was computed
        self._reported_ms = -float("inf")
        self._lags = False  # says the last report
        self._was_there = False  # at the head, once

    @property
    def has_computed(self) -> bool:
        """Whether this incarnation has computed an epoch yet."""
        return self._last_ms is not None

    @property
    def lags(self) -> bool:
        """Whether it has reported to the orderers that it lags, and not yet that it has caught up."""
        return self._lags

    def computed(self, epoch: int, head: int, now_ms: float) -> None:
        """Epoch `epoch` is computed. Only one that follows at once tells how long one takes: before others it waited."""
        if self._last_ms is not None and self._next_was_there:
            self._durations.append(now_ms - self._last_ms)
        self._last_ms, self.last_computed, self._next_was_there = now_ms, epoch, head > epoch

    def report(self, distance: Distance, now_ms: float) -> LagReport | None:
        """What to append to the ordering log now, if anything.

        The mean of its epochs, not their median: with some slow ones among them the median would leave no room at all.
        That it has caught up is reported at once, or the others would go on leaving it room.
        """
        if self.near.is_at_head(distance):
            self._was_there = self._was_there or self.has_computed
            if not self._lags:
                return None
            self._lags = False
            return LagReport(self._replica, self.last_computed, 0.0)
        lags = self._lags or not self._was_there or self.near.lags(distance)
        if not lags or not self._durations or now_ms - self._reported_ms < self._every_ms:
            return None
        self._lags, self._reported_ms = True, now_ms
        return LagReport(self._replica, self.last_computed, fmean(self._durations))

    def stands_still(self, distance: Distance, now_ms: float) -> bool:
        """Called often. Whether others go on without this replica: its engine waits for something, or is lost."""
        behind_ms = self._behind.ms(self.near.lags(distance), now_ms)
        idle_ms = behind_ms if self._last_ms is None else min(behind_ms, now_ms - self._last_ms)
        return idle_ms > self._still_ms and idle_ms > 3 * max(self._durations, default=0.0)

    def check(self, distance: Distance, has_read_all: bool, now_ms: float) -> None:
        """Raise `TooFarBehindError` if this replica is far behind the head and does not come nearer.

        It is not judged while the log is read (`has_read_all` is False), when the head that is known comes nearer to the
        true one, nor before its first epoch, which takes long with a large state.
        """
        if not has_read_all or not self.has_computed:
            return
        if not self.near.is_hopeless(distance):
            self._far_since = None
            return
        behind = distance.epochs
        since, farthest = self._far_since or (now_ms, behind)
        farthest = max(farthest, behind)
        self._far_since = (since, farthest)
        if now_ms - since > self._patience_ms:
            if behind >= farthest:
                raise TooFarBehindError(
                    f"{behind} epochs behind the log's head, and no nearer than {self._patience_ms / 1000:.0f} s ago: "
                    "this replica starts again from newer state"
                )
            self._far_since = (now_ms, behind)
