"""Waiting for a replica that catches up: however long that takes, as long as it comes nearer to the log's head."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tandem.status.page import duration

LOOK_EVERY_S: Final = 0.25
_SLOW: Final = 3
"""So many times as long as without an epoch may take until a replica that computes is nearer to the head than ever."""
SAY_EVERY_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a replica stands on its way to the log's head.

    `epoch` : the last one that is in its state, −1: none yet. `behind`: epochs between it and the head.
    `left_s` : estimated time to the head, None: not known. `restored_bytes`: of the state that it begins with, so far.
    `waits` : what it has been waiting for, if that takes most of a minute.
    """

    ready: bool = False
    epoch: int = -1
    behind: int = 0
    left_s: float | None = None
    restored_bytes: int = 0
    waits: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """In one line, after the name of the replica."""
        if self.epoch >= 0:
            left = "" if self.left_s is None else f", about {duration(self.left_s)} left"
            where = f"is at epoch {self.epoch:,}, {self.behind:,} epochs behind{left}"
        elif self.restored_bytes:
            where = f"has restored {self.restored_bytes / 1e6:,.0f} MB of its state, and computed no epoch yet"
        else:
            where = "has no state yet"
        return "; it waits for ".join((where, *self.waits))


@dataclass(frozen=True, slots=True)
class Ended:
    """Why nobody waits for a replica any more: where it stood last, and `falls_behind`, if it does, in words."""

    standing: Standing
    falls_behind: str = ""


class Approach:
    """How a replica has come nearer so far; times are s of any monotonic clock.

    The head comes nearer to nobody who computes fewer epochs than come in. For the first `still_s` after it has state the
    distance says nothing: the replica still reads how far the log goes.
    """

    def __init__(self, still_s: float, now_s: float) -> None:
        self._still_s = still_s
        self._epoch, self._restored_bytes, self._moved_s = -1, 0, now_s
        self._computes_s: float | None = None  # since when it has state
        self._nearest: tuple[float, Standing] | None = None

    def look(self, now: Standing, now_s: float) -> Ended | None:
        """Where it stands now; not None: it is no use to wait longer."""
        if now.epoch > self._epoch or now.restored_bytes > self._restored_bytes:
            self._epoch = max(now.epoch, self._epoch)
            self._restored_bytes = max(now.restored_bytes, self._restored_bytes)
            self._moved_s = now_s
        if now_s - self._moved_s >= self._still_s:
            return Ended(now)
        return self._behind(now, now_s) if now.epoch >= 0 else None

    def _behind(self, now: Standing, now_s: float) -> Ended | None:
        if self._computes_s is None:
            self._computes_s = now_s
        if now_s - self._computes_s < self._still_s:
            return None
        if self._nearest is None or now.behind < self._nearest[1].behind:
            self._nearest = now_s, now
        then_s, then = self._nearest
        passed_s = now_s - then_s
        if passed_s < _SLOW * self._still_s:
            return None
        computed = now.epoch - then.epoch
        come_in = computed + now.behind - then.behind
        return Ended(now, f"computes {computed / passed_s:.1f} epochs/s, {come_in / passed_s:.1f} come in")


def come_to_head(
    standing: Callable[[], Standing],
    is_running: Callable[[], bool],
    say: Callable[[Standing], None],
    still_s: float,
    clock_s: Callable[[], float],
    sleep: Callable[[float], None],
) -> Ended:
    """Wait until the replica is at the head, or has ended, or has made no progress for `still_s`, or falls behind.

    `say` : receives every half minute where it stands.
    """
    said_s = clock_s()
    approach, last = Approach(still_s, said_s), Standing()
    while is_running():
        last = standing()
        now_s = clock_s()
        if last.ready:
            break
        if (ended := approach.look(last, now_s)) is not None:
            return ended
        if now_s - said_s >= SAY_EVERY_S:
            say(last)
            said_s = now_s
        sleep(LOOK_EVERY_S)
    return Ended(last)
