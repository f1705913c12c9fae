"""A pod of a cluster in mind."""

from __future__ import annotations

from dataclasses import dataclass

from tandem.process.ending import EndKind
from tandem_operator.observed import Component, ContainerSeen, PodPhase

STEP_MS = 5_000


@dataclass
class Pod:
    """A pod; `slots`: how many its process believes there are. `age`: steps since its process began.

    `accepts` : it may begin another generation than the log has, though it is a member.
    """

    name: str
    uid: str
    component: Component
    index: int
    template: str
    manifest: str = ""
    config: str = ""
    generation: str = ""
    slots: int = 0
    accepts: bool = False
    phase: PodPhase = PodPhase.PENDING
    deleting: bool = False
    node_lost: bool = False
    exit_code: int | None = None
    end: EndKind | None = None
    message: str = ""
    restarts: int = 0
    role: str = ""
    created_ms: int = 0
    started_ms: int = 0
    age: int = 0
    broken: bool = False
    diverged: bool = False
    silent: bool = False
    beside: tuple[ContainerSeen, ...] = ()

    @property
    def incarnation(self) -> str:
        kind = "replica" if self.component is Component.MEMBER else self.component.value
        return f"flights.{kind}-{self.index}.{self.uid}"

    @property
    def runs(self) -> bool:
        return self.phase is PodPhase.RUNNING and not self.node_lost and self.exit_code != 0

    @property
    def works(self) -> bool:
        """Whether its process has started and is not broken."""
        return self.runs and not self.broken and not self.deleting and self.age >= 2
