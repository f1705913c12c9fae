"""A job with lanes and `deletionPolicy: Delete`: a lane's job takes nothing with it, the whole everything."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tandem.manifest import KIND
from tandem_operator.resources.names import CLEANUP
from unit.operator.tiny_api import CREATED, FORBIDDEN, KilledError, kills_before
from unit.operator.tiny_changing import Changing, FromOne
from unit.operator.tiny_world import KEY, Key, World

LANE = f"{KEY.name}-lane-1"


class Lanes(Changing):
    """An operator and a job of so many lanes, with their pods; it passes over all their jobs."""

    def __init__(self, policy: str = "Delete", lanes: int = 2) -> None:
        self.world, self.fails = World(lanes=lanes, deletionPolicy=policy), ""
        self.look(3)

    def look(self, times: int = 1) -> None:
        for _ in range(times):
            self.watch()
            self.world.passes()
            for lane in self.lanes():
                key = Key(KEY.namespace, lane["metadata"]["name"])
                if key in self.world.store.jobs:
                    asyncio.run(self.world.reconciler.reconcile(key))

    def watch(self) -> None:
        """Kubernetes deletes what jobs owned that are gone, and the watches tell."""
        things = self.world.api.objects
        there = {job["metadata"]["uid"] for (kind, _), job in things.items() if kind == KIND}
        for name, thing in list(things.items()):
            if any(owner["uid"] not in there for owner in thing["metadata"].get("ownerReferences", ())):
                del things[name]
        for key in [key for key in self.world.store.jobs if (KIND, key.name) not in self.world.api.objects]:
            self.world.store.see_job(self.world.store.jobs[key], gone=True)
        self.world.watch()

    def ends(self) -> None:
        """The tasks that clean up end well, until the job is gone."""
        for _ in range(10):
            if not self.is_there:
                return
            for pod in self.cleanups():
                said = {"name": "task", "state": {"terminated": {"exitCode": 0}}}
                self.world.api.put({**pod, "status": {"phase": "Running", "containerStatuses": [said]}})
            self.look()
        raise AssertionError(f"it does not go: {self.world.api.progressing()}")

    @property
    def is_there(self) -> bool:
        return (KIND, KEY.name) in self.world.api.objects

    def made(self, kind: str = "-topics-") -> list[str]:
        return [name for name in self.world.api.writes("create") if kind in name]


def test_the_whole_takes_topics_and_snapshots_with_it_and_no_job_of_a_lane_does() -> None:
    job = Lanes()
    assert job.world.job["metadata"]["finalizers"] == [CLEANUP]
    assert job.world.api.done[0] == ("merge", KIND, KEY.name), "the finalizer is there before anything else"
    assert {lane["spec"]["deletionPolicy"] for lane in job.lanes()} == {"Retain"}
    assert all(not lane["metadata"].get("finalizers") for lane in job.lanes())


def test_a_job_of_a_lane_that_somebody_deletes_takes_nothing_with_it_and_is_made_again() -> None:
    job = Lanes()
    before = job.world.api.objects[KIND, LANE]["metadata"]["uid"]
    job.world.api.doom(KIND, LANE)
    job.look(3)
    assert job.world.api.objects[KIND, LANE]["metadata"]["uid"] != before
    assert job.made() == []


def test_a_job_of_a_lane_that_an_older_operator_has_made_takes_nothing_with_it_either() -> None:
    job = Lanes()
    lane = job.world.api.objects[KIND, LANE]
    metadata = {**lane["metadata"], "finalizers": [CLEANUP], "deletionTimestamp": CREATED}
    job.world.api.put({**lane, "metadata": metadata, "spec": {**lane["spec"], "deletionPolicy": "Delete"}})
    job.look(3)
    assert job.made() == []
    assert "deletionTimestamp" not in job.world.api.objects[KIND, LANE]["metadata"]


def test_the_jobs_of_the_lanes_and_their_pods_end_before_one_task_deletes_what_all_have_left() -> None:
    job = Lanes()
    assert len(job.made("-replica-")) == 4
    job.world.api.doom(KIND, KEY.name)
    pods = [dict(job.world.api.objects["Pod", name]) for name in job.world.api.named("Pod")]
    job.look()
    assert (job.lanes(), job.made()) == ([], [])
    assert job.world.job["status"]["phase"] == "Deleting"
    assert job.world.job["status"]["lanes"] == "0/2"
    for pod in pods:
        job.world.api.put(pod)
    job.world.passes()
    assert job.made() == [], "pods of lanes are there still"
    assert pods[0]["metadata"]["name"] in job.world.api.progressing()["message"]
    job.look(3)
    (name,) = job.made()
    (container,) = job.world.api.objects["Pod", name]["spec"]["containers"]
    assert "--lane" not in container["args"]
    assert container["args"][-2:] == ["--with-snapshots", "--yes"]
    job.ends()


def test_a_job_with_lanes_whose_policy_is_changed_back_keeps_topics_and_snapshots() -> None:
    job = Lanes()
    body = job.world.job
    job.world.api.put({**body, "spec": {**body["spec"], "deletionPolicy": "Retain"}})
    job.look()
    assert job.world.job["metadata"]["finalizers"] == []
    job.world.api.doom(KIND, KEY.name)
    assert not job.is_there


def test_a_policy_that_is_changed_back_while_the_job_is_deleted_lets_it_go() -> None:
    job = Lanes()
    job.world.api.doom(KIND, KEY.name)
    job.look(2)
    body = job.world.job
    job.world.api.put({**body, "spec": {**body["spec"], "deletionPolicy": "Retain"}})
    job.look()
    assert not job.is_there


def test_a_finalizer_that_is_refused_is_reported() -> None:
    world = World(lanes=2, deletionPolicy="Delete")
    world.api.refuse = lambda verb, *_: FORBIDDEN if verb == "merge" else None
    assert world.refused() is FORBIDDEN
    assert world.api.progressing()["reason"] == "ApiRefused"
    assert world.api.writes("apply") == [], "no lane begins before"


def cleaned_up(changing: Changing) -> None:
    """The job is deleted now, and goes with its topics and snapshots."""
    changing.world.api.doom(KIND, KEY.name)
    changing.goes_on()
    assert (KIND, KEY.name) not in changing.world.api.objects
    assert any("-topics-" in name for name in changing.world.api.writes("create")), "its topics and snapshots stay"


@pytest.mark.parametrize("stage", ["Checking", "Stopping", "Dividing", "Beginning"])
@pytest.mark.parametrize("kind", [Changing, FromOne])
def test_a_job_that_is_deleted_while_its_lanes_change_takes_topics_and_snapshots_with_it(kind: Any, stage: str) -> None:
    changing = kind()
    changing.until(stage)
    cleaned_up(changing)


@pytest.mark.parametrize("write", range(0, 12))
def test_wherever_an_operator_is_killed_the_job_goes_after_one_task_that_began_when_no_lane_was_left(
    write: int,
) -> None:
    job = Lanes()
    job.world.api.doom(KIND, KEY.name)
    job.world.api.refuse = kills_before(write)
    try:
        job.ends()
    except KilledError:
        job.world.restarts()
    if job.is_there:
        job.ends()
    assert len(job.made()) == 1
    done = [name for _, kind, name in job.world.api.done if kind in (KIND, "Pod")]
    assert done.index(job.made()[0]) > max(done.index(f"{KEY.name}-lane-{lane}") for lane in range(2))
