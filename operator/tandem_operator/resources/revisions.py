"""A revision of a job: what its pods use, kept as a `ControllerRevision`, as those of StatefulSets are.

It is the spec without what may change and leave a pod that works as it is: how many pods there are, whether they run at all,
which savepoint is requested. The restart nonce belongs to it: pods are made again for it, and a revision is tried again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from tandem.manifest import API_VERSION, ManifestError, ReplicatedStreamJob, parse
from tandem.manifest import KIND as JOB_KIND
from tandem_operator.resources.names import REVISION, hash_of, metadata, revision_name
from tandem_operator.resources.settings import Settings

KIND: Final = "ControllerRevision"

_NOT_IN_IT: Final = (
    "replicas",
    "standbys",
    "suspend",
    "savepointNonce",
    "deletionPolicy",
    "progressDeadlineSeconds",
    "revisionHistoryLimit",
)


def content_of(job: ReplicatedStreamJob, settings: Settings) -> dict[str, Any]:
    """The revision that the job's spec asks for. A job that names no image is of the one that it runs in today."""
    spec = _spec(job)
    kept = {key: value for key, value in spec.items() if key not in _NOT_IN_IT}
    ordering = {key: value for key, value in kept.get("ordering", {}).items() if key != "generators"}
    kept = {key: value for key, value in kept.items() if key != "ordering"}
    return {**kept, **({"ordering": ordering} if ordering else {}), "image": job.spec.image or settings.image}


def digest_of(job: ReplicatedStreamJob, settings: Settings) -> str:
    """What tells the revision that the job's spec asks for from others: 10 hex digits."""
    return hash_of(content_of(job, settings))


def revision(job: ReplicatedStreamJob, uid: str, settings: Settings, number: int) -> dict[str, Any]:
    """The object that keeps the revision that the spec asks for. Kubernetes lets nobody change it: each has a new name."""
    digest = digest_of(job, settings)
    meta = metadata(job, uid, revision_name(job.name, hash_of([digest, number])))
    return {
        "apiVersion": "apps/v1",
        "kind": KIND,
        "metadata": {**meta, "annotations": {REVISION: digest}},
        "revision": number,
        "data": {"spec": content_of(job, settings)},
    }


def job_of(content: Mapping[str, Any], now: ReplicatedStreamJob) -> ReplicatedStreamJob | None:
    """The job of that revision, with everything else as its spec says `now`; None if it is no good job by today's rules."""
    return job_between(content, now.name, now.metadata.namespace, _spec(now))


def job_between(
    content: Mapping[str, Any], name: str, namespace: str, spec: Mapping[str, Any]
) -> ReplicatedStreamJob | None:
    """The same where nobody knows whether `spec`, as the API has it, is a good one beyond what is taken from it."""
    asked: dict[str, Any] = {key: spec[key] for key in _NOT_IN_IT if key in spec}
    generators = {key: value for key, value in spec.get("ordering", {}).items() if key == "generators"}
    ordering = {**content.get("ordering", {}), **generators}
    whole: dict[str, Any] = {**content, **asked}
    if ordering:
        whole["ordering"] = ordering
    return _parsed(name, namespace, json.dumps(whole))


def _spec(job: ReplicatedStreamJob) -> dict[str, Any]:
    spec: dict[str, Any] = job.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True)["spec"]
    return spec


@lru_cache(maxsize=256)
def _parsed(name: str, namespace: str, spec: str) -> ReplicatedStreamJob | None:
    """Remembered: every pass needs it while a job is rolled back, and it takes long."""
    meta = {"name": name, "namespace": namespace}
    try:
        return parse({"apiVersion": API_VERSION, "kind": JOB_KIND, "metadata": meta, "spec": json.loads(spec)})
    except ManifestError:
        return None
