"""Operators and jobs in mind whose number of lanes changes, with what lanes and tasks do meanwhile."""

from __future__ import annotations

from typing import Any

from tandem.manifest import KIND
from tandem_operator.manifests import job_of
from tandem_operator.resources.revisions import revision
from tandem_operator.status import LaneChange, read_status
from unit.operator.operator_builders import SETTINGS, UID
from unit.operator.tiny_api import KilledError, kills_before
from unit.operator.tiny_lanes import conditions
from unit.operator.tiny_world import KEY, World

SNAPSHOTS = {"snapshots": {"store": "s3://bucket/x"}, "deletionPolicy": "Delete"}


class Changing:
    """An operator and a job of two lanes that runs, which is to have four. `tasks` : how each of `tandem lanes` ends."""

    def __init__(self) -> None:
        self.world = World(lanes=2, snapshots={"store": "s3://bucket/x"}, deletionPolicy="Delete")
        self.world.passes(2)  # the finalizer comes first
        self.world.passes(2)
        self.moves()
        self.world.passes()
        api, body = self.world.api, self.world.job
        spec, generation = {**body["spec"], "lanes": 4}, body["metadata"]["generation"] + 1
        api.put({**body, "spec": spec, "metadata": {**body["metadata"], "generation": generation}})
        self.fails = ""

    def lanes(self) -> list[dict[str, Any]]:
        named = (name for name in self.world.api.named(KIND) if name != KEY.name)
        return [self.world.api.objects[KIND, name] for name in named]

    def tasks(self) -> list[dict[str, Any]]:
        return self._pods("-lanes-")

    def cleanups(self) -> list[dict[str, Any]]:
        return self._pods("-topics-")

    def _pods(self, kind: str) -> list[dict[str, Any]]:
        pods = (self.world.api.objects["Pod", name] for name in self.world.api.named("Pod"))
        return [pod for pod in pods if kind in pod["metadata"]["name"]]

    def change(self) -> LaneChange | None:
        return read_status(self.world.job.get("status", {})).lane_change

    def until(self, stage: str) -> None:
        for _ in range(20):
            self.moves()
            self.world.passes()
            if (change := self.change()) is not None and change.stage == stage:
                return
        raise AssertionError(f"it never came to {stage}: {self.change()}")

    def moves(self) -> None:
        """The lanes and tasks do what they are asked for, and the watches tell."""
        for lane in self.lanes():
            phase, ready = ("Suspended", "False") if lane["spec"].get("suspend") else ("Running", "True")
            status = {"phase": phase, "observedGeneration": 1, "conditions": conditions(ready)}
            self.world.api.put({**lane, "metadata": {**lane["metadata"], "generation": 1}, "status": status})
        for pod in self.tasks():
            is_check = "--check" in pod["spec"]["containers"][0]["args"]
            fails = self.fails == ("check" if is_check else "change")
            ended = {"exitCode": 78 if fails else 0, "message": "it is not so" if fails else ""}
            said = {"phase": "Running", "containerStatuses": [{"name": "task", "state": {"terminated": ended}}]}
            self.world.api.put({**pod, "status": said})
        for pod in self.cleanups():
            over = {"name": "task", "state": {"terminated": {"exitCode": 0}}}
            said = {"phase": "Running", "containerStatuses": [over]}
            self.world.api.put({**pod, "status": said})
        gone = {key for key in self.world.store.jobs if (KIND, key.name) not in self.world.api.objects}
        for key in gone:
            self.world.store.see_job(self.world.store.jobs[key], gone=True)
        self.world.watch()

    def goes_on(self) -> None:
        """Until nothing changes any more."""
        for _ in range(20):
            self.moves()
            self.world.passes()

    def goes_on_behind_a_kill(self, write: int) -> None:
        """The same, with another operator from the write on before which one is killed."""
        self.world.api.refuse = kills_before(write)
        try:
            self.goes_on()
        except KilledError:
            self.world.restarts()
        self.goes_on()

    @property
    def numbers(self) -> list[int]:
        return [lane["spec"]["lanes"] for lane in self.lanes()]


class FromOne(Changing):
    """An operator and a job of one lane that has worked, which is to have four."""

    def __init__(self, worked: bool = True) -> None:
        self.world, self.fails = World(lanes=1, **SNAPSHOTS), ""
        if worked:
            self.world.api.put(revision(job_of(self.world.body), UID, SETTINGS, 1))
        self.goes_on()
        self.set_lanes(4)

    def set_lanes(self, lanes: int) -> None:
        body = self.world.job
        generation = body["metadata"]["generation"] + 1
        metadata = {**body["metadata"], "generation": generation}
        self.world.api.put({**body, "spec": {**body["spec"], "lanes": lanes}, "metadata": metadata})

    def members(self) -> list[str]:
        return [name for name in self.world.api.named("Pod") if "-lanes-" not in name and "-lane-" not in name]
