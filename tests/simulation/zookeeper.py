"""ZooKeeper's sessions, the election (who *believes* to lead: two at once, or nobody), and ephemeral nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kazoo.exceptions import ConnectionLoss, NoNodeError, SessionExpiredError
from kazoo.handlers.threading import KazooTimeoutError

from simulation.clock import Call

if TYPE_CHECKING:
    from simulation.process import Process
    from simulation.world import World


class Session:
    """A process's session. The server forgets one that it has not heard of for the session time-out."""

    def __init__(self, client: Process) -> None:
        self.client = client
        self._life = client.life
        self.away_until = 0.0  # it has no connection
        self.silences = 0  # a newer silence (or its end) makes an older time-out void
        self.expired = False
        self.lost = False  # and its client is about to learn that, once

    @property
    def is_held(self) -> bool:
        """Whether the incarnation that began it is still there, if only paused."""
        return self.client.alive and self.client.life == self._life


class Ensemble:
    """The server's side, of one job's folder: a queue of candidates, of whom the first leads."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._queue: list[Session] = []
        self._watching: list[Session] = []
        self._nodes: dict[str, tuple[Session, bytes]] = {}
        self.down_until = 0.0

    def connect(self, client: Process) -> Session:
        """A new session, which joins the queue of candidates after a while."""
        session = Session(client)
        self._later(2.0, None, self._join, session)
        return session

    def watch(self, client: Process) -> Session:
        """A new session of one who is told whenever nodes change."""
        session = Session(client)
        self._watching.append(session)
        return session

    def close(self, session: Session) -> None:
        """The client ends its session: its nodes go at once."""
        session.silences += 1
        self._later(0.0, None, self._expire, session, session.silences)

    # Nodes -----------------------------------------------------------------------------------------------------------

    def values(self, folder: str) -> dict[str, bytes]:
        """Name → value of the nodes in a folder."""
        return self.folders().get(folder, {})

    def folders(self) -> dict[str, dict[str, bytes]]:
        """All nodes, by their folder."""
        found: dict[str, dict[str, bytes]] = {}
        for path, (_, value) in sorted(self._nodes.items()):
            folder, _, name = path.partition("/")
            found.setdefault(folder, {})[name] = value
        return found

    def serve(self, session: Session, what: Callable[[], Any]) -> Any:
        """Do what a client asks for. Raises what kazoo raises when it is not done, or its answer gets lost."""
        if self._world.timeline.now < max(self.down_until, session.away_until):
            raise ConnectionLoss
        if session.expired:
            raise SessionExpiredError
        result = what()
        if self._world.rng.random() < self._world.schedule.unknown:
            self._world.reached("ZooKeeper's answer got lost")
            raise KazooTimeoutError
        return result

    def create(self, session: Session, name: str, value: bytes) -> bool:
        """Make an ephemeral node; False if it is there already."""
        if name in self._nodes:
            return False
        self._nodes[name] = session, value
        self._news()
        return True

    def write(self, name: str, value: bytes) -> None:
        """Change a node's value."""
        if name not in self._nodes:
            raise NoNodeError
        self._nodes[name] = self._nodes[name][0], value
        self._news()

    def remove(self, name: str) -> None:
        """Remove a node, if it is there."""
        if self._nodes.pop(name, None) is not None:
            self._news()

    def replace(self, session: Session, name: str, value: bytes, only_while: str) -> bool:
        """Make a node in the place of another one, in one step, if a third one is there."""
        if name not in self._nodes or only_while not in self._nodes:
            return False
        self._nodes[name] = session, value
        self._news()
        return True

    # Sessions --------------------------------------------------------------------------------------------------------

    def silent(self, session: Session) -> None:
        """The client is not heard of from now on: paused, dead or cut off."""
        session.silences += 1
        timeout = self._world.schedule.session_timeout_ms * self._world.rng.uniform(0.7, 1.0)
        self._later(timeout, None, self._expire, session, session.silences)

    def heard(self, session: Session) -> None:
        """The client is back; if its session is lost it will learn that, but not at once."""
        session.silences += 1
        if session.expired and not session.lost:
            session.lost = True
            self._later(self._world.rng.uniform(0, 40), session.client, session.client.session_lost)

    def suspend(self, session: Session, until: float) -> None:
        """The client loses its connection, notices some time later, and comes back at `until`."""
        self.silent(session)
        session.away_until = max(session.away_until, until)
        if not session.is_held:
            return
        notices = self._world.timeline.now + self._world.rng.uniform(0, 0.66) * self._world.schedule.session_timeout_ms
        if notices < until:
            self._world.timeline.at(notices, session.client, self._tell, session, False)
        self._world.timeline.at(until, session.client, self._reconnect, session)

    def outage(self, until: float) -> None:
        """No server for a while. Sessions outlive it: nobody is there to expire them."""
        self.down_until = max(self.down_until, until)
        for session in [*self._queue, *self._watching]:
            self.suspend(session, until)

    def _later(self, delay: float, whose: Process | None, call: Call, *args: Any) -> None:
        now = self._world.timeline.now
        self._world.timeline.at(max(now, self.down_until) + delay, whose, call, *args)

    def _reconnect(self, session: Session) -> None:
        self.heard(session)
        if session in self._watching:
            self._later(self._world.delay(), session.client, session.client.reconnected)
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
        if self._world.timeline.now < self.down_until:
            self._later(self._world.schedule.session_timeout_ms, None, self._expire, session, silence)
            return
        session.expired = True
        if session in self._watching:
            self._watching.remove(session)
        nodes = {name: node for name, node in self._nodes.items() if node[0] is not session}
        if len(nodes) < len(self._nodes):
            self._nodes = nodes
            self._news()
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
        session.client.told(leading)

    def _news(self) -> None:
        for session in self._watching:
            self._world.timeline.after(self._world.delay(), session.client, session.client.nodes_changed)
