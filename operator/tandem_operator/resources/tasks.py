"""Pods that carry out a request once: a command of `tandem` in the job's own image, with the job's own Secrets and volumes.

So the operator itself needs no credentials of Kafka, of ZooKeeper, or of the store of snapshots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.observed import LANES_S, TASK_S, Component
from tandem_operator.resources.containers import replica_resources, small
from tandem_operator.resources.manifest import FILE, FOLDER, lane_options
from tandem_operator.resources.names import ATTEMPT, COMPONENT, DEFAULT_CONTAINER, INDEX, ROLE, hash_of
from tandem_operator.resources.overrides import container_of, merge
from tandem_operator.resources.plain import plain
from tandem_operator.resources.pods import pod
from tandem_operator.resources.settings import Settings

TASK: Final = "task"
"""Component of these pods."""
PROMOTE: Final = "promote"
DRAIN: Final = "drain"
SAVEPOINT: Final = "savepoint"
TOPICS: Final = "topics"
LANES: Final = "lanes"
_GRACE_S: Final = 5


def promotion(job: ReplicatedStreamJob, uid: str, settings: Settings, leaves: str, successor: str) -> dict[str, Any]:
    """`tandem promote`: `successor` ("": any standby) becomes active, `leaves` stands by."""
    return _task(job, uid, settings, [PROMOTE, _MANIFEST, *filter(None, [successor]), "--instead-of", leaves])


def drain(job: ReplicatedStreamJob, uid: str, settings: Settings, leaves: str, to_nobody: bool) -> dict[str, Any]:
    """`tandem drain`: a standby takes over from `leaves`, which ends; `to_nobody`: its slot is one too many."""
    return _task(job, uid, settings, [DRAIN, _MANIFEST, leaves, *(["--to-nobody"] if to_nobody else [])])


def savepoint(job: ReplicatedStreamJob, uid: str, settings: Settings, name: str, request: str) -> dict[str, Any]:
    """`tandem savepoint create`: the newest snapshot gets a name, and is kept. Another `request` is another task."""
    return _task(job, uid, settings, [SAVEPOINT, "create", _MANIFEST, name, "--newest"], request)


def cleanup(job: ReplicatedStreamJob, uid: str, settings: Settings, attempt: int) -> dict[str, Any]:
    """`tandem topics delete`: the job's own topics and its snapshots go. Another `attempt` is another task."""
    task = _task(job, uid, settings, [TOPICS, "delete", _MANIFEST, "--with-snapshots", "--yes"], str(attempt))
    metadata = task["metadata"]
    return {**task, "metadata": {**metadata, "annotations": {**metadata["annotations"], ATTEMPT: str(attempt)}}}


def change_of_lanes(
    job: ReplicatedStreamJob, uid: str, settings: Settings, only_check: bool, request: str
) -> dict[str, Any]:
    """`tandem lanes`: a stopped job goes on with `spec.lanes`, or says whether it could. Another `request` is another task.

    It computes as a replica does, and so gets what a replica gets.
    """
    arguments = [LANES, _MANIFEST, *(["--check"] if only_check else [])]
    return _task(job, uid, settings, arguments, request, _Size(replica_resources(job), LANES_S))


def kind_of(job: str, name: str) -> str:
    """`promote`, `drain`, `savepoint`, `topics` or `lanes`, as the name of a task of `job` tells."""
    return name.removeprefix(f"{job}-").partition("-")[0]


_MANIFEST: Final = f"{FOLDER}/{FILE}"


@dataclass(frozen=True, slots=True)
class _Size:
    """What a task may use, and for how long, in seconds."""

    resources: Mapping[str, Any]
    seconds: int


def _task(
    job: ReplicatedStreamJob,
    uid: str,
    settings: Settings,
    arguments: Sequence[str],
    request: str = "",
    size: _Size | None = None,
) -> dict[str, Any]:
    size = size or _Size(small(job), TASK_S)
    name = f"{job.name}-{arguments[0]}-{hash_of([uid, request, *arguments], 8)}"
    like = pod(job, uid, settings, Component.MEMBER, 0, name)
    container = next(c for c in like["spec"]["containers"] if c["name"] == "replica")
    dropped = ("startupProbe", "livenessProbe", "readinessProbe", "ports", "resources")
    command = {key: value for key, value in container.items() if key not in dropped}
    command |= {
        "name": TASK,
        "args": ["python", "-m", "tandem", *arguments, *lane_options(job)],
        "resources": size.resources,
    }
    labels = {key: value for key, value in like["metadata"]["labels"].items() if key not in (INDEX, ROLE)}
    annotations = like["metadata"]["annotations"] | {DEFAULT_CONTAINER: TASK}
    spec = {key: value for key, value in like["spec"].items() if key != "topologySpreadConstraints"}
    affinity = {key: value for key, value in spec.pop("affinity", {}).items() if key != "podAntiAffinity"}
    return {
        **like,
        "metadata": {**like["metadata"], "labels": {**labels, COMPONENT: TASK}, "annotations": annotations},
        "spec": {
            **spec,
            **({"affinity": affinity} if affinity else {}),
            "automountServiceAccountToken": False,
            "restartPolicy": "Never",
            "activeDeadlineSeconds": size.seconds,
            "terminationGracePeriodSeconds": _GRACE_S,
            "containers": [merge(command, container_of(plain(job.spec.pod_template), TASK))],
        },
    }
