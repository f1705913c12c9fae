"""What a pass over a job sees: the job, its pods and other objects, its slots, what its replicas report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from tandem.manifest import ReplicatedStreamJob
from tandem.process.ending import ASKED, EndKind
from tandem.protocol.switchover import View
from tandem.status.report import OrdererReport, ReplicaReport
from tandem_operator.status import LaneChange

TASK_S: Final = 300
"""How long a task may run."""
LANES_S: Final = 1_800
"""And one that divides states."""
UNBEGUN_MS: Final = 300_000
UNENDED_MS: Final = UNBEGUN_MS + (TASK_S + 60) * 1000
BEGINNING: Final = ("ContainerCreating", "PodInitializing")
"""What every container waits for at its beginning; whatever else Kubernetes says it waits for is an error."""


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


def _because(reason: str, message: str) -> str:
    text = message if message.startswith(reason) else f"{reason}: {message}"
    return text.rstrip(": .")


@dataclass(frozen=True, slots=True)
class ContainerSeen:
    """A container. `started_ms`: since when it runs, 0: it does not; `exit_code` of its last end, None: none yet.

    `is_init` : it runs before the others, which wait until it has ended well; a native sidecar is none of these.
    `ended` : and it has not been started again since, nor is it about to be.
    `end` : of which kind its last end was, as the process said; None: it did not say.
    `waits` : why it does not run, in Kubernetes' one word (`ImagePullBackOff`); "": it runs, or has ended.
    """

    name: str
    ready: bool = False
    started_ms: int = 0
    restarts: int = 0
    exit_code: int | None = None
    ended: bool = False
    end: EndKind | None = None
    message: str = ""
    waits: str = ""
    is_init: bool = False

    @property
    def is_settled(self) -> bool:
        """Whether it does what it is there for, or has done it: one that ends well is not started again."""
        return self.ready or (self.ended and self.exit_code == 0)

    @property
    def label(self) -> str:
        """Its name, and what kind of container it is."""
        return f"init container {self.name}" if self.is_init else self.name

    @property
    def trouble(self) -> str:
        """What it waits for or how it ended, in words; "": it runs, is just being started, or has ended well."""
        if self.waits and self.waits not in BEGINNING:
            return _because(self.waits, self.message)
        if self.is_init and self.exit_code:
            return _because(f"it ended with exit code {self.exit_code}", self.message)
        return ""


@dataclass(frozen=True, slots=True)
class PodSeen:
    """A pod of the job. `index` counts within its component.

    `ready`, `started_ms`, `restarts`, `exit_code`, `ended`, `end`, `message` and `waits` are those of its main container,
    see `ContainerSeen`; `beside` are the others: the orderer, and what the pod template or the cluster adds, but for init
    containers that have ended well.
    `template` is the hash of what the pod was made from (the annotation `tandem.dev/template`), `manifest` the ConfigMap
    that it reads, and `config` the configuration in that (`tandem.dev/manifest`, `tandem.dev/config`).
    `generation` of a candidate: the revision whose generation it is to begin.
    `reported`, `orderer` : what the replica in it, and the orderer or generator, say of themselves; None: nothing.
    `unready_ms` : since when Kubernetes does not call the pod ready; 0: it does, or says nothing.
    `unmounted_ms` : since when it has a node, but not what it needs there before any container; 0: it has, or has no node.
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
    unmounted_ms: int = 0
    restarts: int = 0
    exit_code: int | None = None
    ended: bool = False
    end: EndKind | None = None
    message: str = ""
    waits: str = ""
    beside: tuple[ContainerSeen, ...] = ()
    reported: ReplicaReport | None = None
    orderer: OrdererReport | None = None
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

    @property
    def ended_by_itself(self) -> bool:
        """Whether its process has ended for good with exit code 0, though nobody had asked it to."""
        return self.ended and self.exit_code == 0 and self.end not in ASKED


@dataclass(frozen=True, slots=True)
class ObjectSeen:
    """Another object that the job owns; `applied` is the hash of what we last applied (annotation `tandem.dev/applied`).

    `whole` : the object itself, of kinds that may be changed: the plan reads it.
    `uid` : Kubernetes'; "": it was made a short while ago, and not listed since.
    """

    kind: str
    name: str
    applied: str
    whole: Mapping[str, Any] | None = None
    uid: str = ""


@dataclass(frozen=True, slots=True)
class TaskSeen:
    """A pod that carries out a request, or cleans up. `message`: what it said at its end, or why it does not begin.

    `created_ms`, `ended_ms` : 0: nobody knows when. `attempt`: counts the tries of one that is tried again.
    `exit_code` : of its process; None: it has not ended, or was ended with its pod.
    """

    name: str
    uid: str
    phase: PodPhase
    message: str = ""
    created_ms: int = 0
    ended_ms: int = 0
    attempt: int = 1
    exit_code: int | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it did what it was there for, or failed."""
        return self.phase in (PodPhase.SUCCEEDED, PodPhase.FAILED)

    def has_failed(self, now_ms: int) -> bool:
        """Whether it will not do it any more: it failed, no node has taken it for long, or its node is silent."""
        return self.phase is PodPhase.FAILED or (not self.has_ended and self.created_ms > 0 and now_ms >= self.due_ms)

    @property
    def due_ms(self) -> int:
        """Until when it must have begun, or ended: its own deadline counts from its beginning, which may never come."""
        return self.created_ms + (UNBEGUN_MS if self.phase is PodPhase.PENDING else UNENDED_MS)

    @property
    def over_ms(self) -> int:
        """When it failed, as far as is known."""
        return self.ended_ms or (self.created_ms if self.has_ended else self.due_ms)

    @property
    def words(self) -> str:
        """What is to be said of one that failed."""
        if self.phase is PodPhase.FAILED:
            return self.message or "it left no message"
        what = "begun" if self.phase is PodPhase.PENDING else "ended"
        waited = (UNBEGUN_MS if self.phase is PodPhase.PENDING else UNENDED_MS) // 60_000
        return f"it has not {what} within {waited} min" + (f": {self.message}" if self.message else "")


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that a pass knows. What could not be asked is None: nothing is decided from it then.

    `now_ms` : wall clock, ms since 1970. `version`: the job's resource version; `deleting`: it is to go.
    `invalid` : what is wrong with the spec, in words; then `job` is of the last revision that worked. "": nothing.
    `lane_change` : the job has one lane, and is about to have several; None: it is not.
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
    finalizers: tuple[str, ...] = ()
    version: str = ""
    deleting: bool = False
    invalid: str = ""
    lane_change: LaneChange | None = None

    @property
    def is_silent(self) -> bool:
        """Whether Kubernetes calls replicas ready, and none says anything."""
        ready = [pod for pod in self.pods if pod.ready and pod.component is not Component.GENERATOR]
        return bool(ready) and all(pod.reported is None for pod in self.pods)
