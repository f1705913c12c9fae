"""When an active replica goes: one too many, relieved, drained, or told to stop. The reader shall not notice."""

from __future__ import annotations

import time
from collections.abc import Callable

from tandem.coordination.slots import Slots
from tandem.logs import get_logger
from tandem.protocol.membership import SettlingWatch, SurplusWatch
from tandem.protocol.switchover import Role
from tandem.waiting import Deadline, wait_until

_log = get_logger(__name__)

SURPLUS_S = 15.0
SETTLED_S = 2.0
"""So long a successor and who leaves both compute at the head, and three times that if the successor is slower."""
HAND_OVER_S = 20.0
"""How long a replica that is told to stop waits for its successor: less than whoever stops it waits for it."""
_POLL_S = 0.05


class SteppedDownError(Exception):
    """This replica is one too many, or was relieved: it had better start again, as a standby."""


class DrainedError(Exception):
    """This replica was drained: it ends, and stays down until it is started again by hand."""


class Duty:
    """Whether a replica goes on computing.

    Parameters
    ----------
    slots : None if the job has no ZooKeeper: then nobody ever relieves this replica.
    settled_s : how long a successor has to keep up with the head before it relieves who leaves.
    """

    def __init__(
        self, slots: Slots | None, clock_s: Callable[[], float] = time.monotonic, settled_s: float = SETTLED_S
    ) -> None:
        self._slots = slots
        self._clock_s = clock_s
        self._surplus = SurplusWatch(SURPLUS_S * 1000)
        self._settling = SettlingWatch(settled_s * 1000)

    def check(self, ready: bool, keeps_up: bool) -> None:
        """Called often while the replica computes; `ready`: it has reached the log's head; `keeps_up`: and stays there.

        Raises `SteppedDownError`, `DrainedError`.
        """
        if self._slots is None:
            return
        now_ms = self._clock_s() * 1000
        is_settled = self._settling.is_settled(ready, keeps_up, now_ms)
        self._slots.tell(Role.READY if is_settled or (ready and not self._slots.is_summoned) else Role.CATCHING_UP)
        self._end_if_drained()
        relief = self._slots.relief
        if relief is not None:
            raise SteppedDownError(f"{relief.incarnation} has taken over: this replica stands by again")
        if self._surplus.must_step_down(self._slots.is_surplus, now_ms):
            raise SteppedDownError(f"others have held all slots for {SURPLUS_S:.0f} s: this replica stands by again")

    def hand_over(self, go_on: Callable[[], None]) -> None:
        """This replica is told to stop: if a standby is there, compute until that has taken over, for a while at most.

        `go_on` is called meanwhile; what it raises ends the waiting.
        """
        slots = self._slots
        if slots is None:
            return

        def is_over() -> bool:
            go_on()
            return slots.relief is not None or not slots.can_hand_over

        began = self._clock_s()
        slots.leave()
        wait_until(is_over, Deadline(HAND_OVER_S), _POLL_S)
        _log.info(
            "not_handed_over" if slots.relief is None else "handed_over",
            to=None if slots.relief is None else slots.relief.incarnation,
            ms=round((self._clock_s() - began) * 1000),
        )

    def _end_if_drained(self) -> None:
        if self._slots is not None and self._slots.must_end:
            raise DrainedError("drained: it stays down until tandem start")
