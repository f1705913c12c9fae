"""What a pass over a job sees: the job, its pods and other objects, its slots, what its replicas report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tandem.manifest import ReplicatedStreamJob
from tandem.protocol.switchover import View
from tandem.report import ReplicaReport


class Component(StrEnum):
    """What a pod is for. Which of the members is active and which stands by, the job's slots decide, not the operator."""

    MEMBER = "member"
    GENERATOR = "generator"
    CANDIDATE = "candidate"
    """A replica of the job's next generation, beside the members until that has begun and has members of its own."""


class PodPhase(StrEnum):
    """As Kubernetes has it; `LOST` is ours: its node is gone or unreachable, or the pod is being deleted."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    LOST = "Lost"


@dataclass(frozen=True, slots=True)
class ContainerSeen:
    """A container. `started_ms`: since when it runs, 0: it does not; `exit_code` of its last end, None: none yet."""

    name: str
    ready: bool = False
    started_ms: int = 0
    restarts: int = 0
    exit_code: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class PodSeen:
    """A pod of the job. `index` counts within its component.

    `ready`, `started_ms`, `restarts`, `exit_code` and `message` are those of its main container, see `ContainerSeen`;
    `beside` are the others: the orderer, and what the pod template adds.
    `template` is the hash of what the pod was made from (the annotation `tandem.dev/template`), `manifest` the ConfigMap
    that it reads, and `config` the configuration in that (`tandem.dev/manifest`, `tandem.dev/config`).
    `generation` of a candidate: the revision whose generation it is to begin.
    `unready_ms` : since when Kubernetes does not call the pod ready; 0: it does, or says nothing.
    A lost pod is `deleting` (somebody has deleted it, it may still hand over), or `node_lost`, or both.
    """

    name: str
    uid: str
    component: Component
    index: int
    template: str
    phase: PodPhase
    ready: bool = False
    node: str = ""
    ip: str = ""
    role: str = ""
    created_ms: int = 0
    started_ms: int = 0
    unready_ms: int = 0
    restarts: int = 0
    exit_code: int | None = None
    message: str = ""
    beside: tuple[ContainerSeen, ...] = ()
    reported: ReplicaReport | None = None
    deleting: bool = False
    node_lost: bool = False
    manifest: str = ""
    config: str = ""
    generation: str = ""

    @property
    def replica(self) -> str:
        """The name by which the runtime knows the process in it."""
        return f"replica-{self.index}" if self.component is Component.MEMBER else f"{self.component.value}-{self.index}"

    @property
    def is_gone(self) -> bool:
        """Whether it has to be replaced, without waiting until Kubernetes has removed it."""
        return self.phase in (PodPhase.LOST, PodPhase.FAILED, PodPhase.SUCCEEDED)


@dataclass(frozen=True, slots=True)
class ObjectSeen:
    """Another object that the job owns; `applied` is the hash of what we last applied (annotation `tandem.dev/applied`).

    `whole` : the object itself, of kinds whose content the plan reads.
    """

    kind: str
    name: str
    applied: str
    whole: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TaskSeen:
    """A pod that carries out a wish. `message`: what it said at its end; `ended_ms` 0: nobody knows when it ended."""

    name: str
    uid: str
    phase: PodPhase
    message: str = ""
    created_ms: int = 0
    ended_ms: int = 0

    @property
    def has_ended(self) -> bool:
        """Whether it did what it was there for, or failed."""
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that a pass knows. What could not be asked is None: nothing is decided from it then.

    `now_ms` : wall clock, ms since 1970.
    """

    job: ReplicatedStreamJob
    uid: str
    generation: int
    now_ms: int
    pods: tuple[PodSeen, ...] = ()
    tasks: tuple[TaskSeen, ...] = ()
    objects: tuple[ObjectSeen, ...] = ()
    view: View | None = None
    leader: str | None = None
    status: Mapping[str, object] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
