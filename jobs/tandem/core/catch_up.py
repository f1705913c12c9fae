"""How far a replica is behind, and when it tells the orderers so that they leave it room."""

from collections import deque
from statistics import fmean

from tandem.protocol.silence import Lasting
from tandem.protocol.values import Progress


class TooFarBehindError(Exception):
    """This replica does not catch up: it had better start again from newer state."""


class CatchUp:
    """Times this replica's epochs; reports every `every_ms` from when it lags by `lagging_epochs` until it has caught up.

    Before it was at the head once, it lags as soon as it is not there: one that is as fast as the others would stay two
    epochs behind them.

    One that lags and has computed nothing for `still_ms`, or three times its longest epoch if that is more, stands still.
    A replica that is `hopeless_epochs` behind and comes no nearer in `hopeless_ms` starts again from another's state.
    """

    def __init__(
        self,
        replica: str,
        last_computed: int,
        lagging_epochs: int = 3,
        every_ms: float = 250.0,
        hopeless_epochs: int = 300,
        hopeless_ms: float = 60_000.0,
        still_ms: float = 5_000.0,
    ) -> None:
        self.last_computed = last_computed
        self._replica = replica
        self._lagging_epochs = lagging_epochs
        self._every_ms = every_ms
        self._hopeless_epochs = hopeless_epochs
        self._hopeless_ms = hopeless_ms
        self._still_ms = still_ms
        self._far_since: tuple[float, int] | None = None  # since when (ms), and how far it was at most
        self._behind = Lasting()  # by `lagging_epochs`
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
        """Whether it has told the orderers that it lags, and not yet that it has caught up."""
        return self._lags

    def computed(self, epoch: int, head: int, now_ms: float) -> None:
        """Epoch `epoch` is computed. Only one that follows at once tells how long one takes: before others it waited."""
        if self._last_ms is not None and self._next_was_there:
            self._durations.append(now_ms - self._last_ms)
        self._last_ms, self.last_computed, self._next_was_there = now_ms, epoch, head > epoch

    def report(self, head: int, now_ms: float) -> Progress | None:
        """What to append to the ordering log now, if anything.

        The mean of its epochs, not their median: with some slow ones among them the median would leave no room at all.
        That it has caught up is told at once, or the others would go on leaving it room.
        """
        behind = head - self.last_computed
        if behind <= 1:
            self._was_there = self._was_there or self.has_computed
            if not self._lags:
                return None
            self._lags = False
            return Progress(self._replica, self.last_computed, 0.0)
        lags = self._lags or not self._was_there or behind >= self._lagging_epochs
        if not lags or not self._durations or now_ms - self._reported_ms < self._every_ms:
            return None
        self._lags, self._reported_ms = True, now_ms
        return Progress(self._replica, self.last_computed, fmean(self._durations))

    def stands_still(self, head: int, now_ms: float) -> bool:
        """Called often. Whether others go on without this replica: its engine waits for something, or is lost."""
        behind_ms = self._behind.ms(head - self.last_computed >= self._lagging_epochs, now_ms)
        idle_ms = behind_ms if self._last_ms is None else min(behind_ms, now_ms - self._last_ms)
        return idle_ms > max(self._still_ms, 3 * max(self._durations, default=0.0))

    def check(self, head: int, has_read_all: bool, now_ms: float) -> None:
        """Raise `TooFarBehindError` if this replica is far behind `head` and does not come nearer.

        It is not judged while the log is read (`has_read_all` is False), when the head that is known comes nearer to the
        true one, nor before its first epoch, which takes long with a large state.
        """
        if not has_read_all or not self.has_computed:
            return
        behind = head - self.last_computed
        if behind < self._hopeless_epochs:
            self._far_since = None
            return
        since, farthest = self._far_since or (now_ms, behind)
        farthest = max(farthest, behind)
        self._far_since = (since, farthest)
        if now_ms - since > self._hopeless_ms:
            if behind >= farthest:
                raise TooFarBehindError(
                    f"{behind} epochs behind the log's head, and no nearer than {self._hopeless_ms / 1000:.0f} s ago: "
                    "this replica starts again from newer state"
                )
            self._far_since = (now_ms, behind)
