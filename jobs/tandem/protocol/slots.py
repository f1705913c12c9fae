"""Slots: whose they are, which are free, and who is one too many. Pure; liveness only.

A job has as many slots as it shall have active replicas, each an ephemeral node that names the incarnation that holds it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tandem.protocol.lasting import Lasting


def held_by(me: bytes, holders: Iterable[tuple[int, bytes]]) -> int | None:
    """The slot that `me` holds: after a lost reply or a session's end only the nodes themselves can tell."""
    return next((slot for slot, holder in holders if holder == me), None)


def free_slots(count: int, taken: Collection[int]) -> list[int]:
    """The slots that nobody holds, in the order in which they are to be tried."""
    return [slot for slot in range(count) if slot not in taken]


class SurplusWatch:
    """Tells an active that holds no slot when to step down: once others have held all slots for more than `limit_ms`.

    Not at once: it was promoted by the log's silence, or lost its session, and the nodes of the dead are still there.
    """

    def __init__(self, limit_ms: float) -> None:
        self._limit_ms = limit_ms
        self._surplus = Lasting()

    def must_step_down(self, is_surplus: bool, now_ms: float) -> bool:
        """Whether it is time; `is_surplus`: others hold all slots, as far as is known."""
        return self._surplus.ms(is_surplus, now_ms) > self._limit_ms


class SettlingWatch:
    """Tells a successor when it may relieve who leaves: once it has kept up with the head for `settled_ms`.

    The first epochs of a JVM are slow, one of them by much. As long as who leaves computes too, no reader notices. One that
    is at the head now and then, but behind it in between, gets three times as long: on a busy machine it may never keep up.
    """

    def __init__(self, settled_ms: float) -> None:
        self._settled_ms = settled_ms
        self._ready = Lasting()
        self._keeping_up = Lasting()

    def is_settled(self, ready: bool, keeps_up: bool, now_ms: float) -> bool:
        """Whether it is time; `ready`: it has reached the head; `keeps_up`: and nobody has to leave it room."""
        ready_ms = self._ready.ms(ready, now_ms)
        keeping_up_ms = self._keeping_up.ms(ready and keeps_up, now_ms)
        is_long_enough = (keeps_up and keeping_up_ms >= self._settled_ms) or ready_ms >= 3 * self._settled_ms
        return ready and is_long_enough
