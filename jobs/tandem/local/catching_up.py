"""Waiting for a replica that catches up: however long that takes, as long as it comes nearer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tandem.status.page import duration

LOOK_EVERY_S: Final = 0.25
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


@dataclass(slots=True)
class Approach:
    """How a replica has come nearer so far; times are s of any monotonic clock."""

    epoch: int
    restored_bytes: int
    nearer_s: float

    def look(self, now: Standing, now_s: float) -> None:
        """Where it stands now."""
        if now.epoch > self.epoch or now.restored_bytes > self.restored_bytes:
            self.epoch, self.restored_bytes = max(now.epoch, self.epoch), max(now.restored_bytes, self.restored_bytes)
            self.nearer_s = now_s


def come_to_head(
    standing: Callable[[], Standing],
    is_running: Callable[[], bool],
    say: Callable[[Standing], None],
    still_s: float,
    clock_s: Callable[[], float],
    sleep: Callable[[float], None],
) -> Standing:
    """Wait until the replica is at the head, or has ended, or has come no nearer for `still_s`; returns where it stood last.

    `say` : receives that every half minute.
    """
    approach, said_s = Approach(-1, 0, clock_s()), clock_s()
    last = Standing()
    while is_running():
        last = standing()
        now_s = clock_s()
        approach.look(last, now_s)
        if last.ready or now_s - approach.nearer_s >= still_s:
            break
        if now_s - said_s >= SAY_EVERY_S:
            say(last)
            said_s = now_s
        sleep(LOOK_EVERY_S)
    return last
