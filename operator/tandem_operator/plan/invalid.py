"""A spec that passed the API server's checks but not ours, or a job that the operator may not see. The status says what
to fix.

What runs is repaired as the last revision that worked has it. Where none is kept, it goes on as it is, and nobody looks at
it: what its conditions said before is not known any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tandem.manifest import ManifestError, ReplicatedStreamJob
from tandem_operator.actions import Action, Emit, SetStatus
from tandem_operator.observed import ObjectSeen
from tandem_operator.plan.conditions import INVALID, not_looked_at, not_progressing, with_progressing
from tandem_operator.plan.good import good_revisions
from tandem_operator.plan.refused import REFUSED
from tandem_operator.plan.status import as_object
from tandem_operator.resources.revisions import job_between
from tandem_operator.status import read_status

_UNSEEN: Final = "Nothing is done for the job, as the operator may not see what there is of it"
_BUT: Final = "The job cannot be deleted with its topics and snapshots until this is fixed: "


def last_working(body: Mapping[str, Any], objects: Iterable[ObjectSeen]) -> ReplicatedStreamJob | None:
    """The job of the last revision that worked, with as many pods as the spec asks for; None: nothing is known of one."""
    last = next(reversed(good_revisions(objects)), None)
    metadata = body["metadata"]
    return None if last is None else job_between(last.content, metadata["name"], metadata["namespace"], body["spec"])


def refuse(body: Mapping[str, Any], error: ManifestError, now_ms: int) -> tuple[Action, ...]:
    """What a pass does then: nothing, if the status says so already."""
    message = f"{_BUT if 'deletionTimestamp' in body['metadata'] else ''}{error}"
    return _stands_still(body, INVALID, message, now_ms)


def unseen(body: Mapping[str, Any], said: str, now_ms: int) -> tuple[Action, ...]:
    """What a pass does whose operator may not see what there is of the job: nothing, if the status says so already."""
    message = f"{_UNSEEN}: {said.rstrip('. ')}. Grant the right; it will be retried"
    return _stands_still(body, REFUSED, message, now_ms)


def _stands_still(body: Mapping[str, Any], reason: str, message: str, now_ms: int) -> tuple[Action, ...]:
    generation = body["metadata"].get("generation", 0)
    old = read_status(body.get("status", {}))
    condition = not_progressing(old, reason, message[:4096], generation, now_ms)
    known = {"phase": old.phase or "Failed", "observed_generation": generation}
    conditions = not_looked_at(old, reason, generation, now_ms)
    status = with_progressing(old.model_copy(update={**known, "conditions": conditions}), condition)
    if status == old:
        return ()
    news = () if condition in old.conditions else (Emit("Warning", reason, condition.message),)
    return (*news, SetStatus(as_object(status)))
