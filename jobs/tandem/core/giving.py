"""Which epochs the engine is given, and where it ends its batches."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from tandem.protocol.barriers import BarrierClock, OwnBarriers
from tandem.protocol.values import EpochRange


@dataclass(frozen=True, slots=True)
class GivingSettings:
    """How far the engine is given epochs ahead, and where its batches end. The defaults are for micro-batches.

    Parameters
    ----------
    most_epochs : that it is given before it has computed the first of them.
    most_records : it is given more as long as they have no more records than that together: where an epoch takes less than a
        millisecond, a handful of them is no work.
    barriers : of a job that has state and no watermark, under the real-time engine. None: where the log says, or nowhere.
    """

    most_epochs: int = 2
    most_records: int = 0
    barriers: OwnBarriers | None = None


class Giving:
    """The epochs after the last that was given, one by one.

    Parameters
    ----------
    after : the epoch that the state stands at, as far as it is known what it was.
    """

    def __init__(self, settings: GivingSettings, after: EpochRange | None) -> None:
        self._settings = settings
        self._ahead: deque[int] = deque()  # of each epoch that was given and is not computed: its records, at least 1
        self._records = 0
        barriers, restored_ms = settings.barriers, None if after is None else after.time_ms
        self._clock = None if barriers is None else BarrierClock(barriers, restored_ms)

    def computed(self) -> None:
        """The engine has computed the first epoch that it was given."""
        if self._ahead:
            self._records -= self._ahead.popleft()

    def give(self, epoch: EpochRange) -> EpochRange | None:
        """The next epoch, as the engine is given it; None if there is no room for it now."""
        records = max(1, epoch.ends.records_since(epoch.starts))
        settings = self._settings
        if len(self._ahead) >= settings.most_epochs and self._records + records > settings.most_records:
            return None
        self._ahead.append(records)
        self._records += records
        return epoch if self._clock is None else replace(epoch, barrier=self._clock.passes(epoch.time_ms))
