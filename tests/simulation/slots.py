"""ZooKeeper as the product's own `Slots` sees it, and an operator who asks for switchovers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from simulation.process import Process
from simulation.tasks import Task
from tandem.coordination.slots import REQUEST, look
from tandem.coordination.zookeeper import ZOOKEEPER_ERRORS
from tandem.protocol.switchover import (
    HandoverRequest,
    Stage,
    SwitchoverRefusedError,
    View,
    encode,
    plan_promotion,
    stage_of,
)

if TYPE_CHECKING:
    from simulation.standby import StandbyReplica
    from simulation.world import World

_BEAT_MS = 60.0
_FOLLOW_MS = 15.0
_GIVE_UP_MS = 700.0


class SimulatedMember:
    """In the place of `tandem.coordination.zookeeper.Member`: a session of a replica. Each of its rounds is a task."""

    def __init__(
        self,
        options: Mapping[str, Any],
        _what: str,
        path: str,
        round_: Callable[[Any], None],
        suspended: Callable[[], None],
        _folders: object,
        _task: object,
    ) -> None:
        self._replica: StandbyReplica = options["replica"]
        self._world = self._replica.world
        self._ensemble = self._world.folder(path)
        self._round, self._suspended = round_, suspended
        self._asked = True
        self._busy = False
        self._task: Task
        self._glance: dict[str, dict[str, bytes]] = {}
        self.connected = False
        self.has_news = True

    def start(self) -> None:
        """Begin to take part."""
        self._replica.member = self
        self._connect()
        self._beat()

    def stop(self) -> None:
        """End the session at once."""
        self._suspended()
        self._ensemble.close(self._session)

    def wake(self) -> None:
        """Ask for a round now."""
        self._asked = True
        self._begin()

    # What is read and written ----------------------------------------------------------------------------------------

    def values(self, folder: str) -> dict[str, bytes]:
        """See `coordination.zookeeper.Nodes`, as for all that follows. Reads in a row mostly find one moment."""
        if not self._glance or self._world.rng.random() < 0.3:
            self._glance = self._ask("slots looked at", self._ensemble.folders)
        return self._glance.get(folder, {})

    def create(self, name: str, value: bytes) -> bool:
        session = self._session
        step = "slot sent" if name.startswith("slots/") else "role sent"
        made: bool = self._ask(step, lambda: self._ensemble.create(session, name, value))
        if name.startswith("slots/") and not made:
            self._world.reached("two raced for a slot")
        return made

    def write(self, name: str, value: bytes) -> None:
        self._ask("role sent", lambda: self._ensemble.write(name, value))

    def remove(self, name: str) -> None:
        self._ask("request withdrawn", lambda: self._ensemble.remove(name))

    def replace(self, name: str, value: bytes, only_while: str) -> bool:
        session = self._session
        replaced: bool = self._ask(
            "successor_holder sent", lambda: self._ensemble.replace(session, name, value, only_while)
        )
        self._world.reached("relieved another" if replaced else "too late to relieve another")
        return replaced

    def _ask(self, step: str, what: Callable[[], Any]) -> Any:
        session = self._session
        return self._task.call(step, lambda _: self._ensemble.serve(session, what))

    # What happens ----------------------------------------------------------------------------------------------------

    def session_lost(self) -> None:
        """A new session is begun."""
        self.disconnected()
        self._connect()

    def disconnected(self) -> None:
        """The connection is lost."""
        self.connected = False
        self._suspended()

    def reconnected(self) -> None:
        """The connection is back, or there for the first time."""
        self.connected = True
        self.wake()

    def _connect(self) -> None:
        self._replica.session = self._session = self._ensemble.watch(self._replica)
        if self._world.timeline.now < self._ensemble.down_until:
            self._ensemble.suspend(self._session, self._ensemble.down_until)
        else:
            self._world.timeline.after(self._world.delay(), self._replica, self.reconnected)

    def _beat(self) -> None:
        self._begin(beat=True)
        self._world.timeline.after(_BEAT_MS, self._replica, self._beat)

    def _begin(self, beat: bool = False) -> None:
        if self.connected and not self._busy and (self._asked or beat):
            self.has_news, self._asked, self._busy = self._asked, False, True
            Task(self._replica, self._run, self._ended)

    def _run(self, task: Task) -> None:
        self._task, self._glance = task, {}
        try:
            self._round(self)
        except ZOOKEEPER_ERRORS:
            self._suspended()

    def _ended(self, _: object) -> None:
        self._busy = False
        self._replica.on_round()
        if self._asked:
            self._begin()


class Requester(Process):
    """An operator: asks for a switchover, follows it, and withdraws the request in the end, or its session ends before."""

    def __init__(self, world: World) -> None:
        super().__init__(world, "operator")
        self.alive = True
        self._request: tuple[HandoverRequest, View, float] | None = None

    def ask_for_switchover(self) -> None:
        """Any standby in the place of any active replica."""
        world, ensemble = self.world, self.world.ensemble
        if self._request is not None or world.timeline.now < ensemble.down_until:
            return
        try:
            view = look(ensemble)  # type: ignore[arg-type]
            request = plan_promotion(view, None, None, f"request-{world.timeline.now:.0f}")
        except SwitchoverRefusedError:
            world.reached("switchover refused")
            return
        self.session = ensemble.watch(self)
        if ensemble.create(self.session, REQUEST, encode(request)):
            self._request = request, view, world.timeline.now + _GIVE_UP_MS * world.rng.choice((0.2, 1.0, 1.0))
            world.tell(self, "asks for", request)
            world.reached("switchover begun")
            self._follow()

    def _follow(self) -> None:
        assert self._request is not None
        assert self.session is not None
        request, before, until = self._request
        stage = stage_of(look(self.world.ensemble), request, before.present(request.leaves))  # type: ignore[arg-type]
        over = stage in (Stage.DONE, Stage.SUCCESSOR_GONE, Stage.LEAVER_GONE)
        if over or self.world.timeline.now > until:
            self.world.reached(f"switchover: {stage.value}" if over else "switchover given up")
            self._request = None
            self.world.ensemble.close(self.session)
            return
        self.world.timeline.after(_FOLLOW_MS, None, self._follow)
