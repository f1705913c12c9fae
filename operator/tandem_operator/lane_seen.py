"""The job of a lane, as it is seen. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tandem_operator.lane_change import LaneJob
from tandem_operator.resources.names import APPLIED
from tandem_operator.status import Status, read_status
from tandem_operator.trim import Body


@dataclass(frozen=True, slots=True)
class LaneSeen:
    """The job of a lane as it is. `applied`: from what it was made; `pods`: how many it has.

    `annotations` : of it, requests among them.
    """

    lane: int
    applied: str
    generation: int
    status: Status
    uid: str
    spec: Mapping[str, Any]
    pods: int = 0
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_available(self) -> bool:
        """Whether it does what its spec asks for, as far as its status says; not while it is still changing."""
        conditions = {one.type: one.status for one in self.status.conditions}
        is_seen = self.status.observed_generation == self.generation
        return is_seen and self.status.phase == "Running" and conditions.get("Progressing") != "False"

    @property
    def lanes(self) -> int:
        """With how many lanes it was made."""
        return int(self.spec.get("lanes", 1))

    @property
    def as_job(self) -> LaneJob:
        """What a change of their number reads of it."""
        is_asked = bool(self.spec.get("suspend"))
        is_seen = self.status.observed_generation == self.generation and self.status.phase == "Suspended"
        return LaneJob(self.uid, self.lanes, is_asked, is_asked and is_seen and not self.pods)


def lane_job_name(job: str, lane: int) -> str:
    """What the job of a lane is called in Kubernetes, e.g. `orders-lane-2`."""
    return f"{job}-lane-{lane}"


def seen_lanes(
    uid: str, bodies: Iterable[Body], pods_of: Callable[[str], int] = lambda _name: 0
) -> dict[int, LaneSeen]:
    """The lanes' jobs that are there, of those in `bodies` that the whole job, with that `uid`, owns.

    `pods_of` : how many pods a job of that name has.
    """
    found = {}
    for body in bodies:
        metadata, of = body["metadata"], body["spec"].get("laneOf")
        if of is None or all(owner["uid"] != uid for owner in metadata.get("ownerReferences", ())):
            continue
        lane, annotations = int(of["lane"]), metadata.get("annotations", {})
        found[lane] = LaneSeen(
            lane,
            annotations.get(APPLIED, ""),
            metadata.get("generation", 0),
            read_status(body.get("status", {})),
            metadata.get("uid", ""),
            body["spec"],
            pods_of(metadata["name"]),
            annotations,
        )
    return found
