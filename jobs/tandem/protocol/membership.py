"""Who computes: whose the slots are, and when a standby becomes active although none is free. Pure; liveness only.

A job has as many slots as it shall have active replicas, each an ephemeral node that names the incarnation that holds it.
A standby takes one that is free; it computes without one where an active has ended, or the log falls silent.
"""

from collections.abc import Collection, Iterable, Set

from tandem.protocol.switchover import View
from tandem.protocol.timeouts import AdaptiveTimeout, Stopwatch


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
        self._surplus = Stopwatch()

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
        self._ready = Stopwatch()
        self._keeping_up = Stopwatch()

    def is_settled(self, ready: bool, keeps_up: bool, now_ms: float) -> bool:
        """Whether it is time; `ready`: it has reached the head; `keeps_up`: and nobody has to leave it room."""
        ready_ms = self._ready.ms(ready, now_ms)
        keeping_up_ms = self._keeping_up.ms(ready and keeps_up, now_ms)
        is_long_enough = (keeps_up and keeping_up_ms >= self._settled_ms) or ready_ms >= 3 * self._settled_ms
        return ready and is_long_enough


def replaces_ended(view: View, me: str, ended: Set[str]) -> bool:
    """Whether I am to compute in the place of an active whose process has ended, though its session has not.

    As many standbys are, in the order of `View.standbys`, as there are such actives that nobody computes for yet.
    """
    vacant = sum(holder.incarnation in ended for holder in view.holders.values())
    surplus = [name for name, role in view.roles.items() if not role.stands_by and view.slot_of(name) is None]
    alive = [name for name in view.standbys() if name not in ended]
    return me in alive[: max(0, vacant - len(set(surplus) - ended))]


class ClaimWatch:
    """Watches how long accepted cuts stay without a claim. Times are ms of any monotonic clock.

    A dead active shows in the log long before its session in ZooKeeper ends, and also while ZooKeeper is away.
    """

    def __init__(self, bound: AdaptiveTimeout) -> None:
        self._bound = bound
        self._unclaimed: dict[int, float] = {}

    def cut(self, epoch: int, now_ms: float) -> None:
        """The cut of `epoch` was accepted."""
        self._unclaimed[epoch] = now_ms

    def claimed(self, epoch: int, now_ms: float) -> None:
        """`epoch` is claimed, and with it whatever was cut before."""
        cut_at = self._unclaimed.get(epoch)
        if cut_at is not None:
            self._bound.observe(max(0.0, now_ms - cut_at))
        self._unclaimed = {other: at for other, at in self._unclaimed.items() if other > epoch}

    def is_silent(self, now_ms: float) -> bool:
        """Whether a cut has been waiting for a claim for longer than the adaptive bound."""
        return any(now_ms - at > self._bound.ms for at in self._unclaimed.values())
