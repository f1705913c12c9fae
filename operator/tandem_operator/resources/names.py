"""How the objects of a job are called and marked, and how one recognises that an object must be made again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from tandem.manifest import API_VERSION, KIND, ReplicatedStreamJob
from tandem_operator.observed import Component

NAME: Final = "app.kubernetes.io/name"
INSTANCE: Final = "app.kubernetes.io/instance"
COMPONENT: Final = "app.kubernetes.io/component"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
PREFIX: Final = "tandem.dev/"
MANAGER: Final = "tandem-operator"
JOB: Final = f"{PREFIX}job"
INDEX: Final = f"{PREFIX}index"
DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
"""Whose logs kubectl shows unless it is asked for others: the cluster may have put a container of its own first."""
ROLE: Final = f"{PREFIX}role"
SCRAPES: Final = f"{PREFIX}scrapes"
"""Pods that carry this label with the value `true`, in any namespace, may ask a job's pods for their metrics."""

TEMPLATE: Final = f"{PREFIX}template"
APPLIED: Final = f"{PREFIX}applied"
MANIFEST: Final = f"{PREFIX}manifest"
CONFIG: Final = f"{PREFIX}config"
LANES_OF: Final = f"{PREFIX}lanes-of"
"""On all that belongs to a lane: the whole job."""
LANE: Final = f"{PREFIX}lane"
ATTEMPT: Final = f"{PREFIX}attempt"
"""On a task that is tried again: attempt number, from 1."""
CLEANUP: Final = f"{PREFIX}cleanup"
"""The finalizer of jobs whose topics and snapshots are to be deleted with them."""
REVISION: Final = f"{PREFIX}revision"
GENERATION: Final = f"{PREFIX}generation"
"""Label of a candidate: the revision whose generation it is to begin."""

EXECUTOR: Final = "executor"
"""Component of the pods in which Spark computes, where a replica has executors. Spark makes them, not the operator."""

_SUFFIX_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"


def labels(job: str, component: str | None = None, index: int | None = None) -> dict[str, str]:
    """The labels of an object of `job`; `component` and `index` for pods."""
    marks = {NAME: "tandem", INSTANCE: job, MANAGED_BY: MANAGER, JOB: job}
    if component is not None:
        marks[COMPONENT] = component
    if index is not None:
        marks[INDEX] = str(index)
    return marks


def selector(job: str, component: str | None = None) -> dict[str, str]:
    """Which labels tell the pods of `job`, or of one of its components, from all others."""
    return {JOB: job} if component is None else {JOB: job, COMPONENT: component}


def lane_labels(job: ReplicatedStreamJob) -> dict[str, str]:
    """The labels of what belongs to a job that is a lane."""
    of = job.spec.lane_of
    return {} if of is None else {LANES_OF: of.job, LANE: str(of.lane)}


def metadata(
    job: ReplicatedStreamJob, uid: str, name: str, component: str | None = None, index: int | None = None
) -> dict[str, Any]:
    """The metadata of an object that the job owns: it goes when the job goes, also if no operator runs."""
    return {
        "name": name,
        "namespace": job.metadata.namespace,
        "labels": {**labels(job.name, component, index), **lane_labels(job)},
        "ownerReferences": [owner_reference(job, uid)],
    }


def owner_reference(job: ReplicatedStreamJob, uid: str) -> dict[str, Any]:
    """The job as the owner: nothing that it owns holds up its deletion."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": job.name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }


def hash_of(value: object, digits: int = 10) -> str:
    """Hex digits of the SHA-256 of a JSON value; the order of keys does not count."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def stamped(thing: Mapping[str, Any]) -> dict[str, Any]:
    """The object with the hash of its content in an annotation, so that a later pass sees whether it is up to date."""
    meta = dict(thing["metadata"])
    meta["annotations"] = {**meta.get("annotations", {}), APPLIED: hash_of(thing)}
    return {**thing, "metadata": meta}


def process_name(component: Component, index: int) -> str:
    """The runtime's name of the process in a pod, e.g. `replica-0`."""
    return f"replica-{index}" if component is Component.MEMBER else f"{component.value}-{index}"


def pod_name(job: str, component: Component, index: int, suffix: str) -> str:
    """E.g. `flights-replica-0-x7k2m`."""
    return f"{job}-{process_name(component, index)}-{suffix}"


def suffix_after(uid: str, component: Component, index: int, predecessor: str) -> str:
    """Five characters for the pod that comes after the one named `predecessor` ("": the first of its index).

    Always the same for the same predecessor: a pass that does not see yet what the one before it created asks for the same
    pod again, which is then no second one.
    """
    number = int(hash_of([uid, component.value, index, predecessor], 16), 16)
    characters = []
    for _ in range(5):
        number, rest = divmod(number, len(_SUFFIX_ALPHABET))
        characters.append(_SUFFIX_ALPHABET[rest])
    return "".join(characters)


def manifest_name(job: str, digest: str) -> str:
    """The ConfigMap of one version of the manifest that the runtime reads."""
    return f"{job}-manifest-{digest}"


def revision_name(job: str, digest: str) -> str:
    """The ControllerRevision that keeps what some of the job's pods were made from."""
    return f"{job}-revision-{digest}"


def is_manifest(job: str, name: str) -> bool:
    """Whether a ConfigMap is that of some version of the job's manifest."""
    return name.startswith(f"{job}-manifest-")
