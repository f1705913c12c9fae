"""The task of a change of the number of lanes: `tandem lanes`, in a pod of the whole job. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.actions import Action, Apply, CreatePod, DeletePod, Object
from tandem_operator.manifests import job_of
from tandem_operator.observed import TaskSeen
from tandem_operator.resources import Settings, tasks, wanted_objects
from tandem_operator.resources.tasks import LANES, kind_of
from tandem_operator.status import LaneChange
from tandem_operator.trim import Body

_NEEDED: Final = ("ConfigMap", "ServiceAccount", "NetworkPolicy")
"""What its pod needs: a job with lanes has no other pods of its own."""


def unneeded_tasks(job: str, tasks: Iterable[TaskSeen], kept: LaneTask | None = None) -> tuple[DeletePod, ...]:
    """Removes the tasks of other stages of a change, and of one that is not asked for any more. `job`: the job's name."""
    others = (one for one in tasks if kind_of(job, one.name) == LANES and (kept is None or one.name != kept.name))
    return tuple(DeletePod(one.name, one.uid, "the number of lanes needs it no more", 0) for one in others)


@dataclass(frozen=True, slots=True)
class LaneTask:
    """The task of a stage. `job`: the whole, with the new number of lanes."""

    job: ReplicatedStreamJob
    uid: str
    settings: Settings
    pod: dict[str, Any]

    @classmethod
    def of(cls, body: Body, change: LaneChange | None, settings: Settings) -> LaneTask | None:
        """That of the stage that is known; None if it has none."""
        if change is None or change.stage not in ("Checking", "Dividing"):
            return None
        job, uid = job_of({**body, "spec": {**body["spec"], "lanes": change.to}}), body["metadata"]["uid"]
        request = f"{change.before}-{change.to}-{change.generation}-{change.since}-{change.attempt}"
        pod = tasks.change_of_lanes(job, uid, settings, change.stage == "Checking", request)
        return cls(job, uid, settings, pod)

    @property
    def name(self) -> str:
        """Of its pod."""
        return str(self.pod["metadata"]["name"])

    def seen(self, tasks: Iterable[TaskSeen]) -> TaskSeen | None:
        """It, among the tasks that are there; None: it is not."""
        return next((one for one in tasks if one.name == self.name), None)

    @property
    def objects(self) -> tuple[Object, ...]:
        """What else its pod needs."""
        return tuple(one for one in wanted_objects(self.job, self.uid, self.settings) if one["kind"] in _NEEDED)

    def made(self) -> tuple[Action, ...]:
        """What makes it."""
        return (*map(Apply, self.objects), CreatePod(self.pod))
