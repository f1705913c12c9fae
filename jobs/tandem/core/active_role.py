"""What an active says of itself, and how it goes: it is one too many, relieved, drained, or asked to stop.

No reader shall notice. Who goes computes on until another one is as quick, and publishes what it has claimed.
"""

from __future__ import annotations

from dataclasses import dataclass

from tandem.core.effects import HandedOver, SeekSuccessor, TellRole
from tandem.core.events import Seen
from tandem.protocol.membership import SettlingWatch, SurplusWatch
from tandem.protocol.publication import ANYBODY, Publication
from tandem.protocol.switchover import Role


class SteppedDownError(Exception):
    """This replica is one too many, or was relieved: it had better start again, as a standby."""


class DrainedError(Exception):
    """This replica was drained: it ends, and stays down until it is started again by hand."""

    def __init__(self) -> None:
        super().__init__("drained: it stays down until tandem start")


@dataclass(frozen=True, slots=True)
class ActiveRoleSettings:
    """Times in ms.

    Parameters
    ----------
    has_others : there may be other replicas, which publish what this one leaves.
    settled_ms : so long a successor and who leaves both compute at the head; three times that if the successor is slower.
    surplus_ms : how long an active without a slot computes on.
    hand_over_ms : how long one that is asked to stop waits for a successor: less than a supervisor waits for it.
    leave_ms : how long one that leaves waits until its successor claims, and then for what it owes.
    """

    has_others: bool = True
    settled_ms: float = 2_000.0
    surplus_ms: float = 15_000.0
    hand_over_ms: float = 20_000.0
    leave_ms: float = 2_000.0


class ActiveRole:
    """Of one active. Times are ms of one monotonic clock."""

    def __init__(self, publication: Publication, settings: ActiveRoleSettings) -> None:
        self.reason: Exception | None = None
        """Why it leaves; None: it was asked to stop."""
        self._publication = publication
        self._settings = settings
        self._surplus = SurplusWatch(settings.surplus_ms)
        self._settling = SettlingWatch(settings.settled_ms)
        self._seen: Seen | None = None
        self.goes = False
        """Whether it was asked to stop, or leaves."""
        self._stop_ms: float | None = None
        self._leaves_at: float | None = None

    @property
    def is_leaving(self) -> bool:
        """Whether it only finishes what it has begun."""
        return self._leaves_at is not None

    def seen(self, seen: Seen, ready: bool, keeps_up: bool, now_ms: float) -> list[TellRole]:
        """What is known of the others now; `ready`: it has reached the log's head; `keeps_up`: and stays there."""
        self._seen = seen
        if self.goes:
            return []
        is_settled = self._settling.is_settled(ready, keeps_up, now_ms)
        self.reason = self._why_leave(seen, now_ms)
        if self.reason is not None:
            self._leave(now_ms)
        return [TellRole(Role.READY if is_settled or (ready and not seen.is_summoned) else Role.CATCHING_UP)]

    def stop(self, now_ms: float) -> list[SeekSuccessor]:
        """It is asked to stop."""
        if self.goes:
            return []
        self.goes, self._stop_ms = True, now_ms
        return [SeekSuccessor()]

    def go_on(self, now_ms: float) -> list[HandedOver]:
        """Called after each event, if it goes. Who is asked to stop leaves once a standby has taken over, or none can."""
        if self.is_leaving or self._stop_ms is None:
            return []
        seen, waited_ms = self._seen or Seen(), now_ms - self._stop_ms
        if seen.successor_holder is None and seen.can_hand_over and waited_ms < self._settings.hand_over_ms:
            return []
        self._leave(now_ms)
        to = None if seen.successor_holder is None else seen.successor_holder.incarnation
        return [] if self._seen is None else [HandedOver(to, waited_ms)]

    def is_over(self, now_ms: float) -> bool:
        """Whether it owes nothing any more, or too long already. Called after each event, if it goes."""
        if self._leaves_at is None:
            return False
        if not self._publication.retired and now_ms >= self._leaves_at:
            self._publication.retire()
            self._leaves_at = now_ms + self._settings.leave_ms
        return self._publication.retired and (not self._publication.owes or now_ms >= self._leaves_at)

    def _why_leave(self, seen: Seen, now_ms: float) -> Exception | None:
        is_too_many = self._surplus.must_step_down(seen.is_surplus, now_ms)
        if seen.must_end:
            return DrainedError()
        if seen.successor_holder is not None:
            return SteppedDownError(f"{seen.successor_holder.incarnation} has taken over: this replica stands by again")
        if is_too_many:
            waited_s = self._settings.surplus_ms / 1000
            return SteppedDownError(f"others have held all slots for {waited_s:.0f} s: this replica stands by again")
        return None

    def _leave(self, now_ms: float) -> None:
        """Claim on until the successor has claimed an epoch: that of one who stops at once may come late."""
        successor_holder = None if self._seen is None else self._seen.successor_holder
        if successor_holder is None and not self._settings.has_others:
            self._publication.retire()
        else:
            self._publication.retire_after(ANYBODY if successor_holder is None else successor_holder.incarnation)
        self.goes, self._leaves_at = True, now_ms + self._settings.leave_ms
