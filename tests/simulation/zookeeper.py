"""ZooKeeper's sessions and the election: who *believes* to lead, which may be two at once, or nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulation.clock import Call

if TYPE_CHECKING:
    from simulation.orderer import Orderer
    from simulation.world import World


class Session:
    """A candidate's session. The server forgets one that it has not heard of for the session time-out."""

    def __init__(self, client: Orderer) -> None:
        self.client = client
        self.silences = 0  # a newer silence (or its end) makes an older time-out void
        self.expired = False


class Ensemble:
    """The server's side: a queue of candidates, of whom the first leads."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._queue: list[Session] = []
        self.down_until = 0.0

    def connect(self, client: Orderer) -> Session:
        """A new session, which joins the queue after a while."""
        session = Session(client)
        self._later(2.0, None, self._join, session)
        return session

    def silent(self, session: Session) -> None:
        """The client is not heard of from now on: paused, dead or cut off."""
        session.silences += 1
        timeout = self._world.schedule.session_timeout_ms * self._world.rng.uniform(0.7, 1.0)
        self._later(timeout, None, self._expire, session, session.silences)

    def heard(self, session: Session) -> None:
        """The client is back; if its session is lost it will learn that, but not at once."""
        session.silences += 1
        if session.expired:
            self._later(self._world.rng.uniform(0, 40), session.client, session.client.session_lost)

    def suspend(self, session: Session, until: float) -> None:
        """The client loses its connection, notices some time later, and comes back at `until`."""
        self.silent(session)
        notices = self._world.timeline.now + self._world.rng.uniform(0, 0.66) * self._world.schedule.session_timeout_ms
        if notices < until:
            self._world.timeline.at(notices, session.client, self._tell, session, False)
        self._world.timeline.at(until, session.client, self._reconnect, session)

    def outage(self, until: float) -> None:
        """No server for a while. Sessions outlive it: nobody is there to expire them."""
        self.down_until = max(self.down_until, until)
        for session in self._queue:
            self.suspend(session, until)
            session.silences += 1

    def _later(self, delay: float, whose: Orderer | None, call: Call, *args: Any) -> None:
        now = self._world.timeline.now
        self._world.timeline.at(max(now, self.down_until) + delay, whose, call, *args)

    def _reconnect(self, session: Session) -> None:
        self.heard(session)
        if not session.expired and self._queue and self._queue[0] is session:
            self._later(self._world.delay(), session.client, self._tell, session, True)

    def _join(self, session: Session) -> None:
        if not session.expired:
            self._queue.append(session)
            if self._queue[0] is session:
                self._elect()

    def _expire(self, session: Session, silence: int) -> None:
        if session.silences != silence or session.expired:
            return
        session.expired = True
        led = bool(self._queue) and self._queue[0] is session
        if session in self._queue:
            self._queue.remove(session)
        if led and self._queue:
            self._elect()

    def _elect(self) -> None:
        session = self._queue[0]
        self._later(self._world.delay(), session.client, self._tell, session, True)

    def _tell(self, session: Session, leading: bool) -> None:
        if leading and (session.expired or self._queue[:1] != [session]):
            return
        session.client.leading = leading
        if leading:
            session.client.think()
            self._world.reached("elected", session.client)
