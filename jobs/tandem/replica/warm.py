"""The second stage of an incarnation: it has run a few epochs, and stands by until there is a place for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from tandem.checkpoint.compared import newest_compared
from tandem.checkpoint.position import EnginePosition
from tandem.coordination.peers import Peers
from tandem.coordination.slots import Slots
from tandem.core.standby import StandbyCore, bound_on_actives
from tandem.core.state import ReplicaState
from tandem.logs import get_logger
from tandem.protocol.switchover import Role
from tandem.replica.prepared import Prepared
from tandem.replica.setting import Setting
from tandem.replica.standby import Standby

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Warm:
    """A replica that can begin to compute at once.

    `slots` : None of a job without ZooKeeper, and of a candidate: slots are the old generation's.
    """

    prepared: Prepared
    slots: Slots | None

    @classmethod
    def of(cls, prepared: Prepared, stack: ExitStack) -> Warm:
        """Join the others, after `warm_up`; `stack` leaves them."""
        return cls(prepared, None if prepared.membership.candidate else join_slots(prepared.setting, stack))

    def stand_by(self, stopping: threading.Event, came_up: Callable[[], None] = lambda: None) -> bool:
        """Wait for a slot, if the job has standbys; False if this replica is stopped before it gets one.

        `came_up` : called when it stands by.

        Raises `DrainedError`, `SupersededError`.
        """
        setting, slots = self.prepared.setting, self.slots
        if slots is None or not setting.spec.standbys:
            return True
        setting.reporter.stage = "standby"
        came_up()
        _log.info("standing_by")
        promoted = self._promoted(slots, stopping)
        if promoted:
            slots.tell(Role.CATCHING_UP)
            setting.reporter.stage = "starting"
            setting.metrics.promotions.inc()
        return promoted

    def _promoted(self, slots: Slots, stopping: threading.Event) -> bool:
        setting, shipping, clients = self.prepared.setting, self.prepared.shipping, self.prepared.setting.clients
        shipping.prove_with(self.prepared.engine)
        place = clients.place_at(clients.newest_published())
        bound = bound_on_actives(setting.spec.take_over.min_bound.ms)
        core = StandbyCore(place.decisions, bound, self.prepared.membership.config.generation)
        events = clients.events(place, [clients.logs.ordering])
        standby = Standby(core, slots, events, lambda: shipping.has_proved, self.prepared.output.while_waiting())

        def state() -> ReplicaState:
            published = shipping.last_published
            return ReplicaState(
                head_epoch=core.decisions.last_epoch,
                published_epoch=place.head - 1 if published is None else published,
            )

        setting.reporter.state = state

        def is_over() -> bool:
            setting.reporter.beat()
            if shipping.last_published is not None:
                setting.reporter.has_to_prove = shipping.has_to_prove
            return stopping.is_set()

        promotion = standby.wait(is_over)
        if promotion is None:
            return False
        _log.info("promoted", because=promotion.value, slot=slots.slot)
        return True


def warm_up(prepared: Prepared) -> None:
    """Run a few epochs, if somebody else computes meanwhile: one that is alone would only publish later."""
    setting, spec = prepared.setting, prepared.setting.spec
    if spec.replicas + spec.standbys == 1 and not prepared.membership.candidate:
        return
    starting = setting.waits.task()
    starting.begins("epochs to warm up with")
    recent = newest_compared(prepared.states.checkpoints(), setting.clients.newest_published().epoch)
    with setting.room():
        prepared.engine.warm_up(EnginePosition() if recent is None else recent.position)
    starting.ends()


def join_slots(setting: Setting, stack: ExitStack) -> Slots | None:
    """Tell ZooKeeper, if the job has one, that this replica is there, and try to get a slot if there are standbys."""
    manifest, spec = setting.manifest, setting.spec
    options = manifest.zookeeper_options(os.environ)
    if options is None:
        return None
    count = spec.replicas if spec.standbys else 0
    has_others = spec.replicas + spec.standbys > 1
    peers = Peers(setting.incarnation, setting.host, os.environ) if has_others else None
    task = setting.waits.task(beside=True)
    slots = Slots(options, manifest.name, count, setting.incarnation, peers=peers, task=task)
    slots.start()
    stack.callback(slots.stop)
    setting.reporter.slots = slots
    return slots
