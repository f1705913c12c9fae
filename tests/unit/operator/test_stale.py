"""An operator that was cut off comes back with the world of then, beside the one that took its place: it does no harm."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from structlog.testing import capture_logs

from tandem_operator.api import ApiError
from tandem_operator.patience import PATIENCE
from tandem_operator.store import Key, Store
from tandem_operator.wiring import Intake
from unit.operator.operator_builders import UID, tree
from unit.operator.tiny_world import KEY, World


def staffed() -> World:
    """A job of two replicas whose pods are there."""
    world = World()
    for _ in range(3):
        world.passes()
    return world


def other_spec(world: World, **spec: Any) -> None:
    """A user changes the job, and no watch tells it."""
    metadata = {**world.job["metadata"], "generation": world.job["metadata"]["generation"] + 1}
    world.api.put({**world.job, "metadata": metadata, "spec": {**world.job["spec"], **spec}})


def other_pod(world: World, name: str, index: int) -> dict[str, Any]:
    """A pod that another operator makes, and no watch tells of."""
    pod = json.loads(json.dumps(world.api.objects["Pod", world.pods_seen()[-1]]))
    pod["metadata"].update(name=name, uid=f"uid-of-{name}")
    pod["metadata"]["labels"]["tandem.dev/index"] = str(index)
    return world.api.put(pod)


def test_a_pod_that_only_a_newer_spec_asks_for_is_not_deleted() -> None:
    world = staffed()
    other_spec(world, replicas=3)
    world.store.see_pod(other_pod(world, "flights-replica-2-third", 2), gone=False)
    before = world.api.named("Pod")
    assert len(before) == 3
    for _ in range(3):
        world.passes()

    assert world.api.named("Pod") == before
    assert world.api.writes("delete") == []


def test_a_pod_is_not_taken_for_one_too_many_because_its_predecessor_is_not_known_to_be_gone() -> None:
    world = staffed()
    first = world.pods_seen()[0]
    world.store.see_pod(other_pod(world, "flights-replica-0-later", 0), gone=False)
    del world.api.objects["Pod", first]
    for _ in range(3):
        world.passes()

    assert world.api.writes("delete") == []
    assert "flights-replica-0-later" in world.api.named("Pod")
    assert first not in world.pods_seen()


def test_a_pod_that_has_a_successor_already_gets_no_other_one() -> None:
    world = staffed()
    first = world.api.objects["Pod", world.pods_seen()[0]]
    other_pod(world, "flights-replica-0-later", 0)
    del world.api.objects["Pod", first["metadata"]["name"]]
    world.store.see_pod(first, gone=True)
    before = world.api.named("Pod")
    for _ in range(3):
        world.passes()

    assert world.api.named("Pod") == before


@pytest.mark.parametrize("seconds", [2.0, 301.0])
def test_a_pod_is_not_one_too_many_if_another_one_ends_while_all_are_asked_how_they_stand(seconds: float) -> None:
    world = World(replicas=3)
    for _ in range(3):
        world.passes()
    gone = world.pods_seen()[0]

    def ends() -> None:
        if ("Pod", gone) in world.api.objects:
            world.store.see_pod(world.api.objects.pop(("Pod", gone)), gone=True)

    world.reports.meanwhile = ends
    other_spec(world, replicas=2)
    world.store.see_job(world.job, gone=False)
    for wait in (seconds, 2.0, 2.0):
        world.passes(wait)

    assert world.api.writes("delete") == []
    assert len(world.api.named("Pod")) == 2


def test_a_status_tells_of_the_spec_that_it_was_made_from() -> None:
    world = staffed()

    def changes() -> None:
        world.reports.meanwhile = lambda: None
        other_spec(world, restartNonce=1)
        world.store.see_job(world.job, gone=False)

    world.reports.meanwhile = changes
    del world.api.objects["Pod", world.pods_seen()[0]]
    world.store.jobs[KEY]["status"]["active"] = "7/7"
    world.passes()

    assert world.job["status"]["observedGeneration"] == 1
    world.passes()
    world.passes()
    assert world.job["status"]["observedGeneration"] == 2


def test_a_status_that_was_made_of_an_older_one_is_not_written() -> None:
    world = staffed()
    right = world.job["status"]
    stale = world.api.put({**world.job, "status": {**right, "active": "7/7"}})
    world.store.see_job(stale, gone=False)
    newer = world.api.put({**world.job, "status": {**right, "active": "8/8"}})
    world.passes()
    assert world.job["status"] == newer["status"]

    world.passes()
    assert world.job["status"]["active"] == right["active"]


@pytest.mark.parametrize(("type", "is_doubtful"), [(None, True), ("ADDED", False), ("MODIFIED", False)])
@pytest.mark.parametrize("kind", ["job", "pod"])
def test_what_a_watch_has_listed_anew_is_asked_for_before_the_next_pass(
    kind: str, type: str | None, is_doubtful: bool
) -> None:
    world = staffed()
    gone, stays = world.pods_seen()
    del world.api.objects["Pod", gone]
    intake = Intake(world.store, Loop())
    told = world.job if kind == "job" else world.api.objects["Pod", stays]
    asyncio.run((intake.job_event if kind == "job" else intake.pod_event)(type, told))
    world.passes()

    assert (gone not in world.pods_seen()) == is_doubtful
    assert world.store.stale == set()


def test_pods_that_are_all_gone_are_missed_within_half_a_minute_although_no_watch_told() -> None:
    world = staffed()
    for name in world.pods_seen():
        pod = world.api.objects["Pod", name]
        containers = [{"name": "replica", "ready": True}]
        pod["status"] = {"phase": "Running", "podIP": "10.0.0.1", "containerStatuses": containers}
        pod["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
        world.store.see_pod(world.api.put(pod), gone=False)
    before = world.pods_seen()
    for name in before:
        del world.api.objects["Pod", name]
    world.passes()
    asked = world.requests()
    world.passes()
    assert world.requests() == asked
    assert world.pods_seen() == before

    world.passes(30.0)
    assert not set(before) & set(world.pods_seen())
    assert len(world.pods_seen()) == 2


class Loop:
    """Notes whom it was to look at."""

    def __init__(self) -> None:
        self.woken: list[Key] = []
        self.forgotten: list[Key] = []

    def wake(self, key: Key) -> None:
        self.woken.append(key)

    def forget(self, key: Key) -> None:
        self.forgotten.append(key)


def test_the_loop_is_woken_for_known_jobs_and_forgets_those_that_are_gone() -> None:
    store, loop = Store(), Loop()
    intake = Intake(store, loop)
    job = {**tree(), "metadata": {**tree()["metadata"], "uid": UID}}
    labels = {"tandem.dev/job": KEY.name}
    pod = {"metadata": {"name": "a", "namespace": KEY.namespace, "uid": "u", "labels": labels}, "spec": {}}

    asyncio.run(intake.pod_event("ADDED", pod))
    assert loop.woken == []
    asyncio.run(intake.job_event("ADDED", job))
    asyncio.run(intake.pod_event("DELETED", pod))
    assert loop.woken == [KEY, KEY]
    asyncio.run(intake.job_event("DELETED", job))
    assert loop.forgotten == [KEY]
    assert store.jobs == {}


def test_after_etcd_was_restored_and_versions_go_back_an_edit_is_seen() -> None:
    world = staffed()
    world.watch()
    world.api.roll_versions_back()
    other_spec(world, replicas=3)
    world.watch()  # all of it with versions that are lower than those that are known
    for _ in range(3):
        world.passes(301.0)

    assert len(world.api.named("Pod")) == 3


def test_a_status_that_is_refused_again_and_again_since_the_job_has_changed_is_logged() -> None:
    world = staffed()
    world.api.refuse = lambda verb, *_: ApiError(409, "Conflict", "modified") if verb == "set_status" else None
    other_spec(world, replicas=3)
    with capture_logs() as lines:
        for _ in range(PATIENCE):
            world.passes(301.0)
        assert lines == []
        world.passes(301.0)
    assert [(line["event"], line["in_a_row"]) for line in lines] == [("status_conflicts", PATIENCE + 1)]

    world.api.refuse = lambda *_: None
    world.passes(301.0)
    world.api.refuse = lambda verb, *_: ApiError(409, "Conflict", "modified") if verb == "set_status" else None
    other_spec(world, replicas=4)
    with capture_logs() as lines:
        world.passes(301.0)
    assert lines == []
