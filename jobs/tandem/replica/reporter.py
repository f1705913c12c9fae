"""What a replica reports of itself: from its metrics, its slots, and what it sees in the logs."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from tandem.health import Health
from tandem.kafka.watching import Troubles
from tandem.protocol.switchover import View
from tandem.protocol.values import Config
from tandem.replica.failovers import Failovers
from tandem.replica.slots import Slots
from tandem.report import ReplicaReport, State, TopicDrift
from tandem.waits import Waits


class Reporter:
    """Collects one replica's report.

    Parameters
    ----------
    registry : that of the replica's metrics, which hold the numbers.
    alone : one replica of the job is active at a time.
    """

    def __init__(
        self, job: str, replica: str, incarnation: str, registry: CollectorRegistry, alone: bool = False
    ) -> None:
        self._labels = {"job_name": job, "replica": replica}
        self._replica, self._incarnation = replica, incarnation
        self._registry = registry
        self.health = Health()
        self.failovers = Failovers(alone)
        self.slots: Slots | None = None
        self.troubles: Troubles | None = None
        self.has_to_prove = True
        self.waits = Waits()
        self.generation, self.config_hash, self.candidate = 0, "", False
        self._drift: tuple[TopicDrift, ...] | None = None

    def belongs_to(self, config: Config, candidate: bool) -> None:
        """Which configuration of the job the replica runs; `candidate`: the log has not accepted it yet."""
        self.generation, self.config_hash, self.candidate = config.generation, config.digest, candidate

    def drifted(self, found: tuple[TopicDrift, ...]) -> None:
        """How the job's own topics differ from what they should be; by another thread."""
        self._drift = found

    def beat(self) -> None:
        """The replica's main loop goes round."""
        self.health.beat()
        self.health.progress(self._epoch("tandem_epoch"), self._count("tandem_replica_lag_epochs"))

    @property
    def is_ready(self) -> bool:
        """Whether it does what it is there for: stands by, or has reached the log's head."""
        return bool(self._value("tandem_replica_standby") or self._value("tandem_replica_ready"))

    def report(self) -> ReplicaReport:
        """How the replica stands now."""
        slots, view = self.slots, View() if self.slots is None else self.slots.view
        return ReplicaReport(
            replica=self._replica,
            incarnation=self._incarnation,
            state=self._state(),
            ready=self.is_ready,
            epoch=self._epoch("tandem_epoch"),
            head_epoch=self._epoch("tandem_head_epoch"),
            published_epoch=self._epoch("tandem_published_epoch"),
            followed_epoch=self._epoch("tandem_standby_followed_epoch"),
            verified_epoch=self._epoch("tandem_standby_verified_epoch"),
            has_to_prove=self.has_to_prove,
            lag_epochs=self._count("tandem_replica_lag_epochs"),
            lag_records=self._count("tandem_replica_lag_records"),
            lag_seconds=round(self._value("tandem_replica_lag_seconds"), 3),
            diverged=bool(self._value("tandem_replica_diverged")),
            generation=self.generation,
            config_hash=self.config_hash,
            candidate=self.candidate,
            publisher=self.failovers.publisher,
            failover=self.failovers.last,
            coordinated=slots is not None and slots.connected,
            slots={slot: holder.incarnation for slot, holder in view.holders.items()},
            roles={name: role.value for name, role in view.roles.items()},
            wish="" if view.wish is None else view.wish.id,
            drift=self._drift,
            waits_for=self.waits.words,
            waits_beside=self.waits.words_beside,
            trouble="" if self.troubles is None else self.troubles.words,
        )

    def _state(self) -> State:
        if self._value("tandem_replica_standby"):
            return "standby"
        return "active" if self._value("tandem_replica_active") else "starting"

    def _value(self, name: str) -> float:
        return self._registry.get_sample_value(name, self._labels) or 0.0

    def _count(self, name: str) -> int:
        return int(self._value(name))

    def _epoch(self, name: str) -> int:
        value = self._registry.get_sample_value(name, self._labels)
        return -1 if value is None else int(value)
