"""What a replica reports of itself: from its core's state, its slots, and the state that it follows."""

import time
from collections.abc import Callable

from tandem.coordination.slots import Slots
from tandem.core.state import ReplicaState
from tandem.kafka.watching import Troubles
from tandem.protocol.switchover import View
from tandem.protocol.values import Config
from tandem.status.report import ReplicaReport, State, TopicDrift
from tandem.status.serving import Health
from tandem.waits import Waits


class Reporter:
    """Collects one replica's report; any thread may ask for it.

    Its attributes are set by those that know: `stage`; `engine`, see `Choice.words`; `state`, which is asked how the replica
    stands.
    """

    def __init__(self, replica: str, incarnation: str) -> None:
        self._replica, self.incarnation = replica, incarnation
        self.stage: State = "starting"
        self.state: Callable[[], ReplicaState] = ReplicaState
        self.engine = ""
        self.diverged = False
        self.followed_epoch = self.verified_epoch = -1
        self.health = Health()
        self.slots: Slots | None = None
        self.troubles: Troubles | None = None
        self.has_to_prove = True
        self.fault = ""
        self.scattered = ""
        self.waits = Waits()
        self.generation, self.config_hash, self.candidate = 0, "", False
        self._ends = False
        self._drift: tuple[TopicDrift, ...] | None = None

    def belongs_to(self, config: Config, candidate: bool) -> None:
        """Which configuration of the job the replica runs; `candidate`: the log has not accepted it yet."""
        self.generation, self.config_hash, self.candidate = config.generation, config.digest, candidate

    def drifted(self, found: tuple[TopicDrift, ...]) -> None:
        """How the job's own topics differ from what they should be; by another thread."""
        self._drift = found

    def beat(self) -> None:
        """The replica's main loop goes round."""
        state = self.state()
        self.health.beat()
        self.health.progress(state.epoch, state.lag_epochs)

    def ends(self) -> None:
        """The replica is being taken apart, which may take a while."""
        self._ends = True

    @property
    def is_ready(self) -> bool:
        """Whether it does what it is there for: stands by, or has reached the log's head."""
        return not self._ends and (self.stage == "standby" or self.state().ready)

    def report(self) -> ReplicaReport:
        """How the replica stands now."""
        slots, view, state = self.slots, View() if self.slots is None else self.slots.view, self.state()
        return ReplicaReport(
            replica=self._replica,
            incarnation=self.incarnation,
            state=self.stage,
            ready=self.is_ready,
            epoch=state.epoch,
            head_epoch=state.head_epoch,
            published_epoch=state.published_epoch,
            followed_epoch=self.followed_epoch,
            verified_epoch=self.verified_epoch,
            has_to_prove=self.has_to_prove,
            fault=self.fault if self.stage == "standby" else "",
            lag_epochs=state.lag_epochs,
            lag_records=state.lag_records,
            lag_seconds=0.0 if state.due_ms is None else round(max(0.0, time.time() - state.due_ms / 1000), 3),
            catch_up_s=state.catch_up_s,
            claims_won=state.claims_won,
            claims_lost=state.claims_lost,
            take_overs=state.take_overs,
            input_records=state.input_records,
            diverged=self.diverged,
            engine=self.engine,
            generation=self.generation,
            config_hash=self.config_hash,
            candidate=self.candidate,
            publisher=state.publisher,
            failover=state.failover,
            coordinated=slots is not None and slots.connected,
            slots={slot: holder.incarnation for slot, holder in view.holders.items()},
            roles={name: role.value for name, role in view.roles.items()},
            request="" if view.request is None else view.request.id,
            drift=self._drift,
            scattered=self.scattered,
            waits_for=self.waits.words,
            waits_beside=self.waits.words_beside,
            trouble="" if self.troubles is None else self.troubles.words,
        )
