"""A job with lanes that is deleted, with its topics and snapshots: the jobs of its lanes go first, and their pods. Pure.

What a lane has, the whole deletes, not the lane's job: that may be deleted by hand, or go with a change of the number of
lanes, and the lane lives on. So only the whole has a finalizer, and its policy alone counts, whatever happens just then. Its
task knows of all lanes that there were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tandem.manifest import KIND
from tandem_operator.actions import Action, Delete
from tandem_operator.observed import Observed
from tandem_operator.plan.conditions import progressing
from tandem_operator.plan.deletion import begun, deletion, is_background, pods_end, said
from tandem_operator.plan.status import old_status
from tandem_operator.resources import Settings
from tandem_operator.trim import Body


@dataclass(frozen=True, slots=True)
class LanesLeft:
    """What there is still of lanes. `jobs`: name → uid of those that nobody has deleted yet; `names`: of jobs and pods."""

    jobs: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, uid: str, jobs: Iterable[Body], pods: Iterable[Body]) -> LanesLeft:
        """Of what bears the labels of the whole job's lanes: the jobs that it, with that `uid`, owns, and all pods."""
        mine = [job["metadata"] for job in jobs if _is_owned(job, uid)]
        names = sorted([*(one["name"] for one in mine), *(pod["metadata"]["name"] for pod in pods)])
        return cls({one["name"]: one["uid"] for one in mine if "deletionTimestamp" not in one}, tuple(names))


def plan_end(observed: Observed, settings: Settings, left: LanesLeft) -> tuple[Action, ...]:
    """What a pass over the whole job does that is deleted, and has our finalizer."""
    if not is_background(observed) or not left.names:
        return deletion(observed, settings)
    old = old_status(observed)
    condition = progressing(old, "Deleting", pods_end(left.names), observed.generation, observed.now_ms)
    return (
        *(Delete(KIND, name, uid) for name, uid in sorted(left.jobs.items())),
        *said(observed, old, condition, begun(observed)),
    )


def _is_owned(body: Body, uid: str) -> bool:
    return any(owner["uid"] == uid for owner in body["metadata"].get("ownerReferences", ()))
