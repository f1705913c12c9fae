"""A pass does all that it can, and reports what was refused or failed, once."""

from __future__ import annotations

import pytest

from tandem.manifest import KIND
from tandem_operator.api import ApiError
from tandem_operator.patience import PATIENCE
from unit.operator.tiny_api import refuses
from unit.operator.tiny_world import KEY, TERMINATING, World

BUSY = ApiError(503, "ServiceUnavailable", "no leader")


def test_one_refused_action_hides_neither_the_others_nor_the_status() -> None:
    world = World()
    world.api.refuse = refuses("create", "Pod", "flights-replica-0")

    assert "exceeded quota" in str(world.refused())
    assert [name.rpartition("-")[0] for name in world.api.named("Pod")] == ["flights-replica-1"]
    progressing = world.api.progressing()
    assert (progressing["status"], progressing["reason"]) == ("False", "ApiRefused")
    assert progressing["message"].startswith("Creating pod flights-replica-0-")
    assert progressing["message"].endswith(" was refused: exceeded quota: few. It will be retried")
    assert world.api.events() == [("Warning", "ApiRefused")]


def test_what_is_refused_again_is_neither_told_nor_written_again() -> None:
    world = World()
    world.api.refuse = refuses("create", "Pod", "flights-replica-0")
    world.refused()
    world.refused()  # a pod is there by now
    before = list(world.api.done)
    for _ in range(3):
        world.refused()

    assert world.api.done == before
    assert world.api.events() == [("Warning", "ApiRefused")]


def test_when_nothing_is_refused_any_more_the_job_goes_on() -> None:
    world = World()
    world.api.refuse = refuses("create", "Pod", "flights-replica-0")
    world.refused()
    world.api.refuse = lambda *_: None
    world.passes()

    assert len(world.api.named("Pod")) == 2
    assert world.api.progressing()["reason"] == "Starting"


def test_the_time_since_when_it_does_not_get_on_stays() -> None:
    world = World()
    world.api.refuse = refuses("create", "Pod", "flights-replica-0")
    world.refused()
    before = world.api.progressing()
    world.api.refuse = refuses("create", "Pod")
    for name in world.api.named("Pod"):
        del world.api.objects["Pod", name]
    world.now_s += 400.0
    world.refused()

    assert world.api.progressing()["lastTransitionTime"] == before["lastTransitionTime"]


@pytest.mark.parametrize("status", [429, 500, 503, 504])
def test_what_may_pass_is_told_only_after_several_passes_and_not_as_a_refusal(status: int) -> None:
    world = World()
    world.passes()
    before = list(world.api.done)
    world.api.doom("Pod", world.first_pod()["metadata"]["name"])
    world.watch()
    busy = ApiError(status, "", "the server is busy.")
    world.api.refuse = lambda verb, kind, _: busy if (verb, kind) == ("create", "Pod") else None
    for _ in range(PATIENCE):
        assert world.refused() is busy
        assert world.api.progressing()["reason"] == "Starting"
    assert world.api.done == before

    world.refused()
    progressing = world.api.progressing()
    assert (progressing["status"], progressing["reason"]) == ("False", "ApiUnavailable")
    assert progressing["message"].endswith(" has failed several times: the server is busy. It will be retried")
    assert world.api.events() == [("Warning", "ApiUnavailable")]


def test_what_failed_before_a_pass_that_succeeded_does_not_count() -> None:
    world = World()
    for _ in range(2):
        world.api.refuse = lambda verb, kind, _: BUSY if (verb, kind) == ("create", "Pod") else None
        for _ in range(PATIENCE):
            world.refused()
        world.api.refuse = lambda *_: None
        world.passes()
        world.api.doom("Pod", world.pods_seen()[0])
        world.watch()

    assert world.api.events() == []


def test_a_refusal_is_told_at_once_although_something_else_may_pass() -> None:
    world = World()
    world.api.refuse = lambda verb, kind, name: (
        BUSY if (verb, kind) == ("apply", "PodDisruptionBudget") else refuses("create", "Pod")(verb, kind, name)
    )

    assert world.refused() is BUSY
    assert world.api.progressing()["reason"] == "ApiRefused"
    assert world.api.progressing()["message"].startswith("Creating pod")


def test_an_event_that_is_refused_does_not_hide_the_status() -> None:
    world = World()
    world.passes()
    world.api.objects[KIND, KEY.name]["status"]["conditions"][0].update(status="True", reason="Active")
    world.store.see_job(world.api.put(world.api.objects[KIND, KEY.name]), gone=False)
    world.api.refuse = refuses("create", "Event")
    world.refused()

    assert world.api.objects[KIND, KEY.name]["status"]["conditions"][0]["status"] == "False"


def test_a_namespace_that_is_being_deleted_is_left_in_peace() -> None:
    world = World()
    world.api.refuse = lambda verb, kind, _: TERMINATING if (verb, kind) == ("create", "Pod") else None

    assert world.passes() == 10.0
    assert "status" not in world.api.objects[KIND, KEY.name]


def test_a_config_map_of_somebody_else_is_left_alone_and_read_by_no_pod() -> None:
    world = World()
    manifest = world.first_pod()["metadata"]["annotations"]["tandem.dev/manifest"]
    metadata = {"name": manifest, "namespace": KEY.namespace}
    theirs = world.api.put({"kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}})
    error = world.refused()

    assert "belongs to somebody else" in str(error)
    assert world.api.objects["ConfigMap", manifest] == theirs
    assert world.api.named("Pod") == []
    assert world.api.named("PodDisruptionBudget") == ["flights"]
    assert manifest in world.api.progressing()["message"]
    assert "rename that, or the job" in world.api.progressing()["message"]


def test_a_pod_of_somebody_else_is_left_alone_and_told() -> None:
    world = World()
    pod = world.first_pod()
    name = pod["metadata"]["name"]
    theirs = world.api.put({**pod, "metadata": {"name": name, "ownerReferences": [{"uid": "another"}]}})
    world.refused()

    assert world.api.objects["Pod", name] == theirs
    assert name not in world.pods_seen()
    assert len(world.api.named("Pod")) == 2
    progressing = world.api.progressing()
    assert progressing["reason"] == "ApiRefused"
    assert f"{name} exists, and belongs to somebody else" in progressing["message"]


def test_a_pod_of_ours_that_is_there_already_is_no_error() -> None:
    world = World()
    pod = world.first_pod()
    del pod["metadata"]["labels"]  # no list or watch finds it
    there = world.api.put(pod)
    world.passes()

    assert world.api.objects["Pod", pod["metadata"]["name"]] == there
    assert len(world.api.named("Pod")) == 2
    assert world.api.progressing()["reason"] == "Starting"


@pytest.mark.parametrize("kind", ["Pod", "ControllerRevision", "NetworkPolicy"])
def test_a_job_whose_operator_may_not_see_what_there_is_of_it_says_so_once(kind: str) -> None:
    world = World()
    world.api.refuse = refuses("list", kind)
    world.refused()
    world.refused()

    progressing = world.api.progressing()
    assert (progressing["status"], progressing["reason"]) == ("False", "ApiRefused")
    assert "exceeded quota: few. Grant the right" in progressing["message"]
    assert world.api.events() == [("Warning", "ApiRefused")]
    world.api.refuse = lambda *_: None
    world.passes()
    assert world.api.progressing()["reason"] == "Starting"


def test_what_a_former_job_of_that_name_has_left_is_waited_for_and_not_called_somebody_elses() -> None:
    world = World()
    manifest = world.first_pod()["metadata"]["annotations"]["tandem.dev/manifest"]
    former = {"kind": KIND, "name": KEY.name, "uid": "former"}
    metadata = {"name": manifest, "namespace": KEY.namespace, "ownerReferences": [former]}
    world.api.put({"kind": "ConfigMap", "metadata": metadata, "data": {}})
    for _ in range(PATIENCE):
        assert world.refused().is_passing
    assert "status" not in world.job

    world.refused()
    assert world.api.progressing()["reason"] == "ApiUnavailable"
    assert "goes with the former job of this name" in world.api.progressing()["message"]

    del world.api.objects["ConfigMap", manifest]
    world.passes()
    assert world.api.progressing()["reason"] == "Starting"
