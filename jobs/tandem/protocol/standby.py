"""When a standby becomes active although no slot is free: an active has ended, or the log falls silent.

Pure; liveness only.
"""

from __future__ import annotations

from collections.abc import Set

from tandem.protocol.silence import SilenceBound
from tandem.protocol.switchover import View


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

    def __init__(self, bound: SilenceBound) -> None:
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
