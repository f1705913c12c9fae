"""What a pass may do to the cluster. Each is safe to repeat: an object of ours that is there already is a success."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tandem.manifest import ReplicatedStreamJob

Object = Mapping[str, Any]
"""A Kubernetes object, as its API has it."""

Verb = Literal["list", "get", "create", "apply", "merge", "set_status", "delete"]
"""What the API server is asked for: the method of `Api` that does it."""


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Create a pod, under a name that no other pod has had."""

    pod: Object


@dataclass(frozen=True, slots=True)
class TryPod:
    """Ask the API server whether it would take such a pod, before one that works leaves for it (a dry run).

    A quota that is used up is no refusal: the pod that leaves makes room.
    """

    pod: Object


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Delete a pod if it is still the one with that uid. `grace_s` None: its own; 0: its node is dead, do not wait."""

    name: str
    uid: str
    why: str
    grace_s: int | None = None


@dataclass(frozen=True, slots=True)
class Apply:
    """Server-side apply of an object other than a pod. `is_new`: there is none of that name, as far as is known."""

    object: Object
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Create:
    """Create an object other than a pod that never changes."""

    object: Object


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete an object other than a pod that the job no longer needs. `uid`: only if it still is the one with that."""

    kind: str
    name: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class LabelPod:
    """Show a pod's role in its labels."""

    name: str
    uid: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Ask:
    """Hand a request on to the job of a lane, if it still is the one with that uid. `change`: what it is to say."""

    name: str
    uid: str
    change: Object


@dataclass(frozen=True, slots=True)
class Switch:
    """Ask the job's replicas, through ZooKeeper, for a switchover: `leaves` gives its slot to `successor`.

    `successor` "": any standby; None: to nobody, the slot is one too many. A request that is there already is a success.
    `job` : what the task is made from; None: what the spec asks for.
    """

    leaves: str
    successor: str | None
    drains: bool
    job: ReplicatedStreamJob | None = None


@dataclass(frozen=True, slots=True)
class SetFinalizers:
    """Replace the job's finalizers, if it still is the version that was seen; otherwise a later pass looks again."""

    finalizers: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True)
class SetStatus:
    """Replace the job's status."""

    status: Object


@dataclass(frozen=True, slots=True)
class Emit:
    """Tell the job's story in an event. `reason` is UpperCamelCase.

    `once` : a Kubernetes uid of what it tells of, which no other event does: one that was reported already is a success.
    """

    type: Literal["Normal", "Warning"]
    reason: str
    message: str
    once: str = ""


Action = (
    CreatePod
    | TryPod
    | DeletePod
    | Apply
    | Create
    | Delete
    | LabelPod
    | Ask
    | Switch
    | SetFinalizers
    | SetStatus
    | Emit
)
