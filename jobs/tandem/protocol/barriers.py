"""Which epochs are barriers: behind one, the real-time engine ends a batch and commits its state. Pure.

Between two barriers nothing lasts but the inputs and the log, so a restart goes on from the newest barrier and computes the
epochs after it once more. A barrier costs the replica that turns over there some ten milliseconds of output.

- *Common barriers* are for jobs with a watermark, which moves only where batches end: what counts as late, and which
  windows end, depends on where that is. So every replica turns over behind the same epochs. The log says behind which
  (`Cut.barrier`); an orderer asks for one with `is_common`.
- *Own barriers* are for jobs with state and no watermark. Their rows do not depend on where batches end: state and rows are
  a function of the records so far, whether the changes since the last barrier are committed or only in memory. So replicas
  may turn over at different epochs, and do: while one does, the others claim and publish.

Both read nothing but the times of epochs, which are in the log and never go back. So who restarts goes on with the same
barriers, and nobody has to remember when the last one was.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from tandem.protocol.decisions import Decisions

_NUMBER: Final = re.compile(r"\d+$")


def is_common(before_ms: int, time_ms: int, interval_ms: int) -> bool:
    """Whether the epoch of time `time_ms` is a common barrier, its predecessor being of `before_ms` (both Unix, ms).

    The first epoch of each period of `interval_ms` is one, whichever orderer cuts it and however long that one has run.
    0 ms: there are none.

    >>> [time for before, time in [(9_990, 9_999), (9_999, 10_003), (10_003, 10_004)] if is_common(before, time, 5_000)]
    [10003]
    """
    return interval_ms > 0 and time_ms // interval_ms > before_ms // interval_ms


def asks_for_barrier(decisions: Decisions, epoch: int, time_ms: int, interval_ms: int) -> bool:
    """Whether an orderer asks for a common barrier with the cut of `epoch`: the generation in force must need them.

    What counts is the time of the cut before it that the log has accepted: one that got lost has set no barrier.
    """
    config, before = decisions.config, decisions.epoch_range(epoch - 1)
    if config is None or not config.barriers or before is None:
        return False
    return is_common(before.time_ms, time_ms, interval_ms)


def owed_after_ms(decisions: Decisions, interval_ms: int) -> float | None:
    """After how long without input an orderer cuts an epoch for a barrier's sake; None: none is owed.

    Else what came last would be in nobody's lasting state, nor in any savepoint, until records come again.
    """
    config, last = decisions.config, decisions.epoch_range(decisions.last_epoch)
    if config is None or not config.barriers or last is None or last.barrier or interval_ms <= 0:
        return None
    return float(interval_ms)


@dataclass(frozen=True, slots=True)
class OwnBarriers:
    """When one of `replicas` replicas, that of number `place`, turns over; about once in `interval_ms`.

    Time is divided into turns of `interval_ms / replicas`, and each replica has every `replicas`-th of them. It turns over
    behind the first epoch of a turn of its own. An epoch is in one turn, so no two replicas with different places turn over
    behind the same epoch, unless epochs are so far apart that one is overdue: then nobody waits for the next one anyway.

    Results do not depend on places: two replicas with the same one only pause at the same time.
    """

    interval_ms: int
    place: int = 0
    replicas: int = 1

    def __post_init__(self) -> None:
        if self.interval_ms < 1 or self.replicas < 1:
            raise ValueError(
                f"barriers every {self.interval_ms} ms for {self.replicas} replicas: give at least 1 of each"
            )

    def is_due(self, before_ms: int, time_ms: int, last_ms: int) -> bool:
        """Whether the epoch of `time_ms`, after one of `before_ms`, is a barrier; the last one was at `last_ms` (Unix, ms).

        One that has missed its turns, since no epoch was in them, is overdue after two intervals.
        """
        turn_ms = max(1, self.interval_ms // self.replicas)
        turn = time_ms // turn_ms
        is_mine = turn % self.replicas == self.place % self.replicas
        return (is_mine and turn > before_ms // turn_ms) or time_ms - last_ms >= 2 * self.interval_ms


def place_of(slot: int | None, name: str) -> int:
    """A replica's place: its slot, or without one the number that its name ends with.

    >>> place_of(1, "replica-4"), place_of(None, "replica-4"), place_of(None, "main")
    (1, 4, 0)
    """
    number = _NUMBER.search(name)
    return slot if slot is not None else int(number[0]) if number is not None else 0


class BarrierClock:
    """Feeds `OwnBarriers` with one epoch after the other.

    Parameters
    ----------
    restored_ms : the time of the epoch that the state stands at, a barrier; None: it is not known, or there is no state.
    """

    def __init__(self, barriers: OwnBarriers, restored_ms: int | None) -> None:
        self._barriers = barriers
        self._before_ms = self._last_ms = restored_ms

    def passes(self, time_ms: int) -> bool:
        """Whether the next epoch, of `time_ms` (Unix, ms), is a barrier."""
        if self._before_ms is None or self._last_ms is None:
            self._before_ms = self._last_ms = time_ms
            return False
        due = self._barriers.is_due(self._before_ms, time_ms, self._last_ms)
        self._before_ms = time_ms
        if due:
            self._last_ms = time_ms
        return due
