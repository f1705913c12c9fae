"""A pass does all that it can, tells what was refused, and notices what the watches have missed."""

from __future__ import annotations

import pytest

from tandem.manifest import KIND
from tandem_operator.act import Actor, Target
from tandem_operator.actions import Create
from tandem_operator.api import ApiError
from tandem_operator.manifests import job_of
from tandem_operator.owned import Owned
from tandem_operator.reconciler import PATIENCE
from tandem_operator.resources.revisions import revision
from unit.operator.operator_builders import SETTINGS, UID
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
    assert progressing["message"].endswith(" was refused: exceeded quota: few. It is tried again")
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
    assert progressing["message"].endswith(" has failed several times: the server is busy. It is tried again")
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


def test_the_last_words_of_a_task_are_told_once_although_its_removal_is_not_seen_yet() -> None:
    world = World()
    labels = {
        "tandem.dev/job": "flights",
        "app.kubernetes.io/component": "task",
        "app.kubernetes.io/managed-by": "tandem-operator",
    }
    ended = {"exitCode": 1, "message": "no standby", "finishedAt": "2027-01-15T07:00:00Z"}
    status = {"phase": "Failed", "containerStatuses": [{"name": "task", "state": {"terminated": ended}}]}
    metadata = {"name": "flights-drain-0123abcd", "namespace": KEY.namespace, "labels": labels}
    metadata["ownerReferences"] = [{"uid": UID}]
    world.api.put({"kind": "Pod", "metadata": metadata, "spec": {}, "status": status})
    world.passes()
    assert metadata["name"] in world.pods_seen()
    assert metadata["name"] not in world.api.named("Pod")

    for _ in range(3):
        world.passes()
    assert world.api.events().count(("Warning", "SwitchFailed")) == 1


def test_pods_whose_end_no_watch_told_are_dropped_after_five_minutes() -> None:
    world = World()
    world.passes()
    before = world.pods_seen()
    del world.api.objects["Pod", before[0]]
    world.passes()
    assert world.pods_seen() == before

    world.passes(300.0)
    assert before[0] not in world.pods_seen()
    assert len(world.pods_seen()) == 2  # with the one that took its place


def test_a_job_whose_end_no_watch_told_is_forgotten_after_five_minutes() -> None:
    world = World()
    world.passes()
    world.api.objects.clear()

    assert world.passes(300.0) is None
    assert KEY not in world.store.jobs
    assert world.pods_seen() == []
    shown = {"namespace": KEY.namespace, "job_name": KEY.name, "state": "wanted"}
    assert world.registry.get_sample_value("tandem_operator_job_replicas", shown) is None


def test_another_job_with_the_name_of_one_that_is_gone_is_looked_at_as_a_new_one() -> None:
    world = World()
    world.passes()
    world.api.objects.clear()
    world.api.put({**world.body, "metadata": {**world.body["metadata"], "uid": "another"}})

    assert world.passes(300.0) == 2.0
    world.passes()
    owners = {pod["metadata"]["ownerReferences"][0]["uid"] for pod in world.store.pods(KEY)}
    assert owners == {"another"}


def test_a_job_whose_status_is_not_found_is_gone() -> None:
    world = World()
    world.api.refuse = lambda verb, *_: ApiError(404, "NotFound", "no job") if verb == "set_status" else None

    assert world.passes() is None
    assert KEY not in world.store.jobs


def test_a_job_that_is_not_known_is_gone() -> None:
    world = World()
    world.store.see_job(world.body, gone=True)

    assert world.passes() is None


def test_an_unchanged_job_costs_no_call() -> None:
    world = World()
    for _ in range(3):
        world.passes()
    before = world.requests()
    world.passes()

    assert before["set_status"] >= 1
    assert before["create"] >= 2
    assert world.requests() == before


def test_an_unchanged_job_is_looked_at_anew_every_five_minutes_and_costs_no_write_then_either() -> None:
    world = World()
    for _ in range(3):
        world.passes()
    before = world.requests()
    world.passes(300.0)

    asked = {verb: count - before[verb] for verb, count in world.requests().items() if count != before[verb]}
    assert asked == {"get": 1, "list": 7}


def test_a_revision_is_kept_once_and_one_of_somebody_else_is_left_alone() -> None:
    world = World()
    actor, target = Actor(world.api, SETTINGS, "me"), Target(job_of(world.body), UID)
    kept = revision(target.job, UID, SETTINGS, 1)
    for _ in range(2):
        actor.carry_out(target, Create(kept))
    assert world.api.writes("create") == [kept["metadata"]["name"]]

    foreign = revision(target.job, "another", SETTINGS, 2)
    world.api.put(foreign)
    with pytest.raises(ApiError, match="belongs to somebody else"):
        actor.carry_out(target, Create(revision(target.job, UID, SETTINGS, 2)))


def test_a_job_whose_spec_cannot_be_used_gets_its_pods_from_the_last_revision_that_worked() -> None:
    world = World(replicas=3)
    good = revision(job_of(world.body), UID, SETTINGS, 1)
    spoiled = world.api.put({**world.body, "spec": {**world.body["spec"], "sources": []}})
    world.store.see_job(spoiled, gone=False)
    world.passes()
    assert world.api.named("Pod") == []

    world.api.put(good)
    for _ in range(2):
        world.passes(301)  # objects are listed again
    assert len(world.api.named("Pod")) == 3
    assert world.api.progressing()["reason"] == "InvalidSpec"


def test_what_another_job_of_that_name_owned_is_not_taken_for_what_this_one_owns() -> None:
    world = World()
    target = Target(job_of(world.body), UID)
    world.api.put(revision(target.job, UID, SETTINGS, 4))
    owned = Owned(world.api)
    assert owned.of(KEY, UID, False, 0.0)

    assert owned.of(KEY, "another", False, 1.0) == ()


def test_revisions_that_are_kept_are_seen_by_the_next_operator() -> None:
    world = World()
    target = Target(job_of(world.body), UID)
    world.api.put(revision(target.job, UID, SETTINGS, 4))
    owned = Owned(world.api)
    (seen,) = [thing for thing in owned.of(KEY, UID, False, 0.0) if thing.kind == "ControllerRevision"]

    assert seen.whole is not None
    assert (seen.whole["revision"], seen.whole["data"]["spec"]["image"]) == (4, SETTINGS.image)
