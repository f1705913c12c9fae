"""A job with `deletionPolicy: Delete` takes its topics and snapshots with it; every other job just goes."""

from __future__ import annotations

from typing import Any

import pytest

from tandem.manifest import KIND
from tandem_operator.api import ApiError
from tandem_operator.resources.names import CLEANUP
from unit.operator.tiny_api import KilledError, TinyApi, kills_before
from unit.operator.tiny_world import KEY, TERMINATING, World

TASK = "flights-topics-"


class Leaving(World):
    """A job that runs, and is deleted then, unless its test deletes it."""

    def __init__(self, deleted: bool = True, **spec: Any) -> None:
        super().__init__(**{"deletionPolicy": "Delete", **spec})
        self.look()
        if deleted:
            self.api.doom(KIND, KEY.name)

    def look(self, seconds: float = 2.0, times: int = 1) -> None:
        """Passes, each after the watches have told of everything."""
        for _ in range(times):
            self.watch()
            self.passes(seconds)

    def tasks(self) -> list[str]:
        return [name for name in self.api.named("Pod") if name.startswith(TASK)]

    def task_ends(self, phase: str, message: str = "") -> str:
        """The only task succeeds or fails now."""
        (name,) = self.tasks()
        ended = {"exitCode": int(phase == "Failed"), "message": message, "finishedAt": self.clock()}
        containers = [{"name": "task", "state": {"terminated": ended}}]
        self.api.put({**self.api.objects["Pod", name], "status": {"phase": phase, "containerStatuses": containers}})
        return name

    def clock(self) -> str:
        return f"2027-01-15T08:{int(self.now_s) // 60:02}:{int(self.now_s) % 60:02}Z"

    def reasons(self) -> list[str]:
        return [reason for _, reason in self.api.events()]

    def change(self, **spec: Any) -> None:
        """A user changes the spec."""
        self.api.put({**self.job, "spec": {**self.job["spec"], **spec}})


def is_gone(api: TinyApi) -> bool:
    return api.named(KIND) == []


def test_a_job_that_is_to_be_cleaned_up_after_gets_a_finalizer_before_anything_else() -> None:
    world = Leaving(deleted=False)

    assert world.job["metadata"]["finalizers"] == [CLEANUP]
    assert world.api.done[0] == ("merge", KIND, KEY.name)


def test_any_other_job_has_no_finalizer_of_ours() -> None:
    world = Leaving(deleted=False, deletionPolicy="Retain")
    world.look(times=3)

    assert ("merge", KIND, KEY.name) not in world.api.done


def test_a_policy_that_is_changed_back_takes_our_finalizer_off_and_leaves_those_of_others() -> None:
    world = Leaving(deleted=False)
    world.api.put({**world.job, "metadata": {**world.job["metadata"], "finalizers": ["example.com/keep", CLEANUP]}})
    world.change(deletionPolicy="Retain")
    world.look()

    assert world.job["metadata"]["finalizers"] == ["example.com/keep"]


def test_a_finalizer_that_somebody_else_adds_in_the_same_moment_stays() -> None:
    world = Leaving(deleted=False, deletionPolicy="Retain")
    world.change(deletionPolicy="Delete")
    world.watch()
    world.api.put({**world.job, "metadata": {**world.job["metadata"], "finalizers": ["example.com/keep"]}})
    world.passes()
    assert world.job["metadata"]["finalizers"] == ["example.com/keep"]
    world.look()

    assert world.job["metadata"]["finalizers"] == ["example.com/keep", CLEANUP]


def test_pods_end_before_the_task_begins_and_the_job_goes_when_it_has_succeeded() -> None:
    world = Leaving()
    world.look()
    assert world.tasks() == []
    world.look()
    assert [name.startswith(TASK) for name in world.api.named("Pod")] == [True]
    assert world.job["status"]["phase"] == "Deleting"
    world.look(times=3)
    assert len(world.tasks()) == 1

    world.task_ends("Succeeded")
    world.look()
    assert is_gone(world.api)
    assert world.reasons() == ["Deleting", "CleanedUp"]
    world.look()
    assert KEY not in world.store.jobs


def test_the_task_deletes_topics_and_snapshots_without_asking_anybody() -> None:
    world = Leaving(image="example.com/job:7")
    world.look(times=2)
    (name,) = world.tasks()
    (container,) = world.api.objects["Pod", name]["spec"]["containers"]

    assert container["image"] == "example.com/job:7"
    manifest = "/etc/tandem/job/job.yaml"
    assert container["args"] == ["python", "-m", "tandem", "topics", "delete", manifest, "--with-snapshots", "--yes"]


def test_another_task_that_runs_still_ends_first() -> None:
    world = Leaving()
    like = world.first_pod()
    labels = {**like["metadata"]["labels"], "app.kubernetes.io/component": "task"}
    name = "flights-savepoint-0123abcd"
    world.api.put({**like, "metadata": {**like["metadata"], "name": name, "labels": labels}})
    world.look()
    assert name not in world.api.named("Pod")
    assert world.tasks() == []


def test_a_task_that_fails_is_told_in_its_own_words_and_tried_again_later_and_later() -> None:
    world = Leaving()
    world.look(times=2)
    first = world.task_ends("Failed", "no answer from Kafka")
    world.look(times=5)
    assert world.tasks() == [first]
    assert world.reasons().count("CleanupFailed") == 1
    message = world.api.progressing()["message"]
    assert f"{first} failed: no answer from Kafka. It will be retried after 60 s" in message
    assert "set spec.deletionPolicy: Retain" in message

    world.look(60.0, times=2)
    (second,) = world.tasks()
    assert second != first
    world.task_ends("Failed", "still no answer")
    world.look(60.0)
    assert world.tasks() == [second]
    assert "after 120 s" in world.api.progressing()["message"]
    world.look(61.0)
    world.look()
    assert world.tasks() not in ([first], [second])
    assert world.reasons().count("CleanupFailed") == 2
    assert not is_gone(world.api)


def test_nothing_is_written_while_a_failed_task_waits() -> None:
    world = Leaving()
    world.look(times=2)
    world.task_ends("Failed", "no answer")
    world.look(times=2)
    before = list(world.api.done)
    world.look(times=5)

    assert world.api.done == before


def test_a_task_that_no_node_takes_is_told_and_tried_again() -> None:
    world = Leaving()
    world.look(times=2)
    world.look(300.0)
    assert "has not begun within 5 min" in world.api.progressing()["message"]
    assert world.reasons().count("CleanupFailed") == 1


def test_who_changes_the_policy_meanwhile_keeps_topics_and_snapshots() -> None:
    world = Leaving()
    world.look()
    world.change(deletionPolicy="Retain")
    world.look()

    assert is_gone(world.api)
    assert world.tasks() == []


def test_what_the_task_needs_is_there_although_kubernetes_deletes_it_first() -> None:
    world = Leaving(deleted=False)
    world.api.put({**world.job, "metadata": {**world.job["metadata"], "finalizers": ["foregroundDeletion", CLEANUP]}})
    world.api.doom(KIND, KEY.name)
    for kind, name in [key for key in world.api.objects if key[0] in ("ConfigMap", "ServiceAccount")]:
        del world.api.objects[kind, name]
    world.look()
    assert world.job["metadata"]["finalizers"] == [CLEANUP]
    world.look(times=2)

    (task,) = world.tasks()
    read = world.api.objects["Pod", task]["metadata"]["annotations"]["tandem.dev/manifest"]
    assert world.api.named("ConfigMap") == [read]
    assert world.api.named("ServiceAccount") == ["flights"]


def test_a_namespace_that_is_deleted_too_is_not_held_up() -> None:
    world = Leaving()
    world.look()
    world.api.refuse = lambda verb, *_: TERMINATING if verb in ("create", "apply") else None
    world.look()

    assert is_gone(world.api)


def test_a_job_that_only_others_hold_is_none_of_ours() -> None:
    world = Leaving(deleted=False, deletionPolicy="Retain")
    world.api.put({**world.job, "metadata": {**world.job["metadata"], "finalizers": ["example.com/keep"]}})
    world.api.doom(KIND, KEY.name)
    world.watch()
    before = world.requests()
    assert world.passes() == 10.0

    assert world.requests() == before


def test_a_spec_that_cannot_be_used_holds_the_deletion_up_and_says_so() -> None:
    world = Leaving()
    world.change(takeOver={"minBound": "2s"})
    world.look(times=2)

    assert world.api.progressing()["message"].startswith(
        "The job cannot be deleted with its topics and snapshots until"
    )
    world.change(takeOver={"minBound": "50ms"})
    world.look(times=3)
    assert len(world.tasks()) == 1


def test_a_task_that_is_refused_is_told() -> None:
    world = Leaving()
    world.look()
    world.api.refuse = lambda verb, kind, _: (
        ApiError(403, "Forbidden", "exceeded quota") if (verb, kind) == ("create", "Pod") else None
    )
    world.watch()
    with pytest.raises(ApiError, match="exceeded quota"):
        world.passes()

    assert world.api.progressing()["reason"] == "ApiRefused"
    assert f"Creating pod {TASK}" in world.api.progressing()["message"]


def goes(world: Leaving) -> int:
    """Looked at until it is gone, by another operator if one is killed; how many writes that took."""
    before = len(world.api.done)
    for _ in range(10):
        try:
            world.look()
        except KilledError:
            world.restarts()
        if world.tasks():
            world.task_ends("Succeeded")
    assert is_gone(world.api)
    return len(world.api.done) - before


def test_wherever_an_operator_is_killed_the_job_goes_after_one_task_that_began_when_all_pods_had_ended() -> None:
    writes = goes(Leaving(standbys=1))
    for killed_before in range(writes):
        world = Leaving(standbys=1)
        world.api.refuse = kills_before(killed_before)
        goes(world)
        pods = [(verb, name) for verb, kind, name in world.api.done if kind == "Pod"]
        began = [index for index, (verb, name) in enumerate(pods) if verb == "create" and name.startswith(TASK)]
        ended = [index for index, (verb, name) in enumerate(pods) if verb == "delete" and not name.startswith(TASK)]
        assert len(began) == 1, f"killed before write {killed_before}: {pods}"
        assert len(ended) == 3, f"killed before write {killed_before}: {pods}"
        assert began[0] > max(ended), f"killed before write {killed_before}: {pods}"
