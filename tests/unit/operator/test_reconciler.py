"""A pass notices what the watches have missed, costs nothing where nothing has changed, and keeps what it needs again."""

from __future__ import annotations

import pytest

from tandem_operator.act import Actor, Target
from tandem_operator.actions import Create, TryPod
from tandem_operator.api import ApiError
from tandem_operator.manifests import job_of
from tandem_operator.owned import OwnedObjects
from tandem_operator.resources.revisions import revision
from unit.operator.operator_builders import SETTINGS, UID
from unit.operator.tiny_api import refuses
from unit.operator.tiny_world import KEY, World


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
    shown = {"namespace": KEY.namespace, "job_name": KEY.name, "lane": "", "state": "wanted"}
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
    foreign["metadata"]["ownerReferences"][0]["name"] = "another"
    world.api.put(foreign)
    with pytest.raises(ApiError, match="belongs to somebody else"):
        actor.carry_out(target, Create(revision(target.job, UID, SETTINGS, 2)))


def test_a_quota_that_the_pod_that_leaves_makes_room_in_is_no_refusal_of_the_next_one() -> None:
    world = World()
    actor, target = Actor(world.api, SETTINGS, "me"), Target(job_of(world.body), UID)
    before = list(world.api.done)
    world.api.refuse = refuses("create", "Pod")  # exceeded quota
    actor.carry_out(target, TryPod(world.first_pod()))

    world.api.refuse = lambda *_: ApiError(403, "Forbidden", "no PriorityClass with name misspelt was found")
    with pytest.raises(ApiError, match="misspelt"):
        actor.carry_out(target, TryPod(world.first_pod()))
    world.api.refuse = lambda *_: None
    actor.carry_out(target, TryPod(world.first_pod()))
    assert world.api.done == before


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
    owned = OwnedObjects(world.api)
    assert owned.of(KEY, UID, False, 0.0)

    assert owned.of(KEY, "another", False, 1.0) == ()


def test_revisions_that_are_kept_are_seen_by_the_next_operator() -> None:
    world = World()
    target = Target(job_of(world.body), UID)
    world.api.put(revision(target.job, UID, SETTINGS, 4))
    owned = OwnedObjects(world.api)
    (seen,) = [thing for thing in owned.of(KEY, UID, False, 0.0) if thing.kind == "ControllerRevision"]

    assert seen.whole is not None
    assert (seen.whole["revision"], seen.whole["data"]["spec"]["image"]) == (4, SETTINGS.image)


def samples(world: World, job: str) -> dict[str, float]:
    """The conditions of a job that the operator's metrics show."""
    found = (sample for family in world.registry.collect() for sample in family.samples)
    return {
        sample.labels["type"]: sample.value
        for sample in found
        if sample.name == "tandem_operator_condition" and sample.labels["job_name"] == job
    }


def test_of_a_job_that_is_not_looked_at_the_metrics_show_no_old_conditions() -> None:
    world = World()
    world.passes()
    assert samples(world, "flights")["Ready"] == 0
    spoiled = world.api.put({**world.job, "spec": {**world.job["spec"], "sources": []}})
    world.store.see_job(spoiled, gone=False)
    world.passes()
    assert samples(world, "flights") == {"Progressing": 0, "Suspended": 0}
    conditions = {one["type"]: one["status"] for one in world.job["status"]["conditions"]}
    assert conditions["Ready"] == "Unknown"


def account(world: World, **spec: object) -> None:
    """The job has one account, and then a spec with another one."""
    world.passes()
    world.passes(301)  # it is listed
    body = world.job
    world.api.put({**body, "metadata": {**body["metadata"], "generation": 2}, "spec": {**body["spec"], **spec}})
    world.watch()


def test_an_account_that_is_called_like_the_job_stays_if_the_spec_names_it() -> None:
    world = World()
    account(world, serviceAccount="flights")
    world.passes()
    assert "flights" in world.api.named("ServiceAccount")


def test_an_account_that_is_not_needed_goes_and_one_of_that_name_that_somebody_else_has_made_since_stays() -> None:
    world = World()
    account(world, serviceAccount="another")
    theirs = {"kind": "ServiceAccount", "metadata": {"name": "flights", "namespace": KEY.namespace, "uid": "theirs"}}
    ours = world.api.objects["ServiceAccount", "flights"]
    world.api.put(theirs)
    world.passes()
    assert world.api.objects["ServiceAccount", "flights"]["metadata"]["uid"] == "theirs"

    world = World()
    account(world, serviceAccount="another")
    assert ours["metadata"]["ownerReferences"][0]["uid"] == UID
    world.passes()
    assert world.api.named("ServiceAccount") == []
