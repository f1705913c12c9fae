"""Jobs of lanes at the API server: what it refuses, what it has that the watches have not reported."""

from __future__ import annotations

import asyncio

import pytest

from tandem.manifest import KIND
from tandem_operator.api import ApiError
from tandem_operator.begun import STEADY_S
from tandem_operator.lanes import wanted_lane
from tandem_operator.manifests import job_of
from tandem_operator.patience import PATIENCE
from tandem_operator.resources.names import JOB, LANES_OF
from tandem_operator.store import Key
from tandem_operator.wiring import Intake
from unit.operator.operator_builders import tree
from unit.operator.tiny_api import FORBIDDEN, refuses
from unit.operator.tiny_changing import Changing
from unit.operator.tiny_world import KEY, TERMINATING, World


def test_an_operator_makes_the_lanes_and_no_pods() -> None:
    world = World(lanes=2)
    world.passes()
    assert world.api.named(KIND) == ["flights", "flights-lane-0", "flights-lane-1"]
    assert world.api.named("Pod") == []


def test_an_operator_that_does_not_know_the_lanes_yet_asks_before_it_makes_them_again() -> None:
    world = World(lanes=2)
    world.passes()
    applied = world.api.writes("apply")
    world.passes()
    assert world.api.writes("apply") == applied, "the watches have told nothing, but the server knows them"


@pytest.mark.parametrize("error", [ApiError(429, "TooManyRequests", "later"), FORBIDDEN])
def test_when_the_server_refuses_a_lane_for_what_it_would_refuse_all_for_no_other_is_tried(error: ApiError) -> None:
    world = World(lanes=4)
    tried: list[str] = []

    def refuse(verb: str, kind: str, name: str) -> ApiError | None:
        if (verb, kind) != ("apply", KIND):
            return None
        tried.append(name)
        return error

    world.api.refuse = refuse
    assert world.refused() is error
    assert tried == ["flights-lane-0"]


def test_a_quota_keeps_no_change_from_the_lanes_that_are_there() -> None:
    world = World(lanes=2)
    world.passes()
    world.watch()
    del world.api.objects[KIND, "flights-lane-0"]
    world.store.see_job(world.store.jobs[Key(KEY.namespace, "flights-lane-0")], gone=True)
    body = world.job
    metadata = {**body["metadata"], "generation": 2}
    world.api.put({**body, "metadata": metadata, "spec": {**body["spec"], "replicas": 3}})
    world.watch()
    world.api.refuse = refuses("apply", KIND, "flights-lane-0")
    world.refused()
    assert world.api.objects[KIND, "flights-lane-1"]["spec"]["replicas"] == 3


def _lost(world: World, lane: str) -> None:
    del world.api.objects[KIND, lane]
    world.store.see_job(world.store.jobs[Key(KEY.namespace, lane)], gone=True)
    world.watch()


def _spoiled(world: World, **spec: object) -> None:
    body = world.job
    metadata = {**body["metadata"], "generation": body["metadata"]["generation"] + 1}
    world.api.put({**body, "metadata": metadata, "spec": {**body["spec"], **spec}})
    world.watch()


def _spec_of(world: World, lane: str) -> dict[str, object]:
    spec: dict[str, object] = world.api.objects[KIND, lane]["spec"]
    return {name: value for name, value in spec.items() if name != "laneOf"}


def _progressing(world: World) -> str:
    return next(str(one["reason"]) for one in world.job["status"]["conditions"] if one["type"] == "Progressing")


@pytest.mark.parametrize("spoiled", [{"sources": []}, {"sinks": [{"name": "d", "delta": {"path": "/x"}}], "lanes": 1}])
def test_a_lost_lane_of_a_job_whose_spec_is_no_good_is_made_again_as_the_others_are(
    spoiled: dict[str, object],
) -> None:
    world = World(lanes=3, replicas=3)
    world.passes()
    world.watch()
    good = world.api.objects[KIND, "flights-lane-1"]
    _spoiled(world, **spoiled)
    _lost(world, "flights-lane-1")
    world.passes()

    again = world.api.objects[KIND, "flights-lane-1"]
    assert (again["spec"], again["metadata"]["annotations"]) == (good["spec"], good["metadata"]["annotations"])
    assert again["metadata"]["ownerReferences"] == good["metadata"]["ownerReferences"]
    assert _progressing(world) == "InvalidSpec"
    applied = world.api.writes("apply")
    world.watch()
    world.passes()
    assert world.api.writes("apply") == applied, "nothing else is done"


def test_a_lane_that_somebody_has_edited_is_no_model_for_one_that_is_lost() -> None:
    world = World(lanes=3)
    world.passes()
    world.watch()
    _spoiled(world, sources=[])
    edited = world.api.objects[KIND, "flights-lane-0"]
    world.api.put({**edited, "spec": {**edited["spec"], "replicas": 5}})
    good = _spec_of(world, "flights-lane-2")
    _lost(world, "flights-lane-2")
    world.passes()
    assert _spec_of(world, "flights-lane-2") == good


def test_no_lane_is_made_from_a_spec_that_is_no_good_if_none_is_left_or_the_job_is_deleted() -> None:
    world = World(lanes=2, deletionPolicy="Delete")
    world.passes()
    world.passes()
    world.watch()
    _spoiled(world, sources=[])
    _lost(world, "flights-lane-1")
    world.api.doom(KIND, KEY.name)
    world.watch()
    world.passes()
    assert world.api.named(KIND) == ["flights", "flights-lane-0"]

    other = World(lanes=2)
    other.passes()
    other.watch()
    _spoiled(other, sources=[])
    for lane in ("flights-lane-0", "flights-lane-1"):
        _lost(other, lane)
    other.passes()
    assert other.api.named(KIND) == ["flights"]


def test_lanes_stay_gone_while_their_states_are_divided_even_if_the_spec_becomes_invalid() -> None:
    changing = Changing()
    changing.until("Dividing")
    body = changing.world.job
    changing.world.api.put({**body, "spec": {**body["spec"], "sources": []}})
    _lost(changing.world, "flights-lane-1")
    changing.world.passes()
    assert changing.world.api.named(KIND) == ["flights", "flights-lane-0"]


def test_a_foreign_job_with_the_name_of_a_lane_is_left_alone() -> None:
    world = World(lanes=2)
    other = tree(lanes=2, laneOf={"job": "flights", "lane": 1})
    named = {"name": "flights-lane-1", "uid": "foreign", "labels": {"tandem.dev/lanes-of": "flights"}}
    world.api.put({**other, "metadata": {**other["metadata"], **named}})
    with pytest.raises(ApiError, match="belongs to somebody else"):
        world.passes()
    assert world.api.objects[KIND, "flights-lane-1"]["metadata"]["uid"] == "foreign"
    said = {one["type"]: one for one in world.job["status"]["conditions"]}
    assert "belongs to somebody else" in said["Progressing"]["message"]


def test_lanes_that_are_refused_are_not_told_of_as_created() -> None:
    world = World(lanes=2)
    world.api.refuse = refuses("apply", KIND)
    for _ in range(3):
        world.refused()
    assert "LanesCreated" not in [reason for _, reason in world.api.events()]
    assert world.api.progressing()["reason"] == "ApiRefused"

    world.api.refuse = lambda *_: None
    world.passes()
    assert [reason for _, reason in world.api.events()].count("LanesCreated") == 1


def test_a_server_that_is_busy_for_a_moment_is_no_news_of_a_job_with_lanes() -> None:
    world = World(lanes=2)
    busy = ApiError(503, "", "the server is busy")
    world.api.refuse = lambda verb, *_: busy if verb == "apply" else None
    for _ in range(PATIENCE):
        assert world.refused() is busy
    assert world.api.done == []

    world.refused()
    assert "the server is busy" in world.api.progressing()["message"]


def test_lanes_in_a_namespace_that_is_deleted_are_no_failure() -> None:
    world = World(lanes=2)
    world.api.refuse = lambda verb, *_: TERMINATING if verb == "apply" else None
    assert world.passes() == STEADY_S


def test_what_happens_to_a_lane_wakes_the_whole() -> None:
    world = World(lanes=2)
    woken: list[Key] = []

    class Loop:
        def wake(self, key: Key) -> None:
            woken.append(key)

        def forget(self, key: Key) -> None:
            woken.append(key)

    body = wanted_lane(world.body, job_of(world.body), 1)
    seen = {**body, "metadata": {**body["metadata"], "uid": "x"}}
    asyncio.run(Intake(world.store, Loop()).job_event("ADDED", seen))
    assert woken == [Key(KEY.namespace, "flights-lane-1"), KEY]


def test_lanes_whose_pods_no_watch_has_reported_yet_are_not_divided() -> None:
    """As after a start of the operator: the jobs are listed, and the pods are not."""
    changing = Changing()
    changing.until("Stopping")
    changing.world.passes()
    changing.moves()
    metadata = {
        "name": "still-there",
        "namespace": KEY.namespace,
        "labels": {JOB: "flights-lane-1", LANES_OF: KEY.name},
    }
    changing.world.api.put({"kind": "Pod", "metadata": metadata, "spec": {}})
    changing.world.passes()
    assert stage_now(changing) == "Stopping"

    del changing.world.api.objects["Pod", "still-there"]
    changing.world.passes()
    assert stage_now(changing) == "Dividing"


def stage_now(changing: Changing) -> str:
    now = changing.change()
    assert now is not None
    return now.stage


@pytest.mark.parametrize("fails", ["", "check"])
def test_what_the_task_of_a_change_needed_goes_when_the_change_is_over(fails: str) -> None:
    changing = Changing()
    changing.fails = fails
    changing.until("Refused" if fails else "Dividing")
    assert changing.world.api.named("ServiceAccount") == [KEY.name]
    body = changing.world.job
    if fails:
        changing.world.api.put({**body, "spec": {**body["spec"], "lanes": 2}})
    changing.goes_on()
    assert changing.change() is None
    kinds = ("ConfigMap", "ServiceAccount", "NetworkPolicy")
    assert [changing.world.api.named(kind) for kind in kinds] == [[], [], []]
