"""A savepoint that is requested is created once, by a task in the job's own image, and its outcome is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tandem_operator.actions import Action, CreatePod, DeletePod, SetStatus
from tandem_operator.observed import Observed, PodPhase, TaskSeen
from tandem_operator.plan import plan
from tandem_operator.resources import tasks
from unit.operator.operator_builders import SETTINGS, UID, job
from unit.operator.tiny_cluster import TinyCluster

SNAPSHOTS = {"store": "s3://bucket/snapshots"}


class Requester:
    """A job that runs, and the tasks that it was given."""

    def __init__(self, annotation: str = "", **spec: Any) -> None:
        self.cluster = TinyCluster(job(**spec))
        self.cluster.converge()
        self.cluster.annotations = {"tandem.dev/savepoint": annotation} if annotation else {}
        self.task: TaskSeen | None = None

    def passes(self) -> list[Action]:
        """A pass; the actions that concern tasks."""
        actions = plan(self.observed(), SETTINGS)
        self.cluster.do(tuple(action for action in actions if isinstance(action, SetStatus)))
        return [action for action in actions if isinstance(action, CreatePod | DeletePod)]

    def observed(self) -> Observed:
        return replace(self.cluster.observed(), tasks=() if self.task is None else (self.task,))

    def outcome(self, kind: str = "savepoint") -> tuple[str, str]:
        request = self.cluster.status["requests"][kind]
        return str(request["outcome"]), str(request.get("message", ""))


def created(actions: list[Action]) -> Any:
    (action,) = actions
    assert isinstance(action, CreatePod)
    return action.pod


def test_a_task_creates_the_savepoint_in_the_jobs_own_image() -> None:
    requester = Requester("before-upgrade@1", snapshots=SNAPSHOTS, image="example.com/job:7")
    assert requester.passes() == []
    assert requester.outcome()[0] == "Pending"

    pod = created(requester.passes())
    (container,) = pod["spec"]["containers"]
    assert container["image"] == "example.com/job:7"
    assert container["args"][-4:] == ["create", "/etc/tandem/job/job.yaml", "before-upgrade", "--newest"]
    assert pod["spec"]["restartPolicy"] == "Never"

    name = pod["metadata"]["name"]
    requester.task = TaskSeen(name, "uid", PodPhase.RUNNING)
    assert requester.passes() == []
    requester.task = TaskSeen(name, "uid", PodPhase.SUCCEEDED)
    assert requester.passes() == []
    assert requester.outcome() == ("Done", "savepoint before-upgrade is created")
    assert requester.passes() == [DeletePod(name, "uid", "it has ended", 0)]
    requester.task = None
    assert requester.passes() == []


def test_a_task_asks_for_little_as_quotas_want_and_the_template_may_ask_for_more() -> None:
    (container,) = tasks.savepoint(job(), UID, SETTINGS, "a", "1")["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "50m", "memory": "128Mi"}

    template = {"spec": {"containers": [{"name": "task", "resources": {"limits": {"cpu": "1"}}}]}}
    (container,) = tasks.savepoint(job(podTemplate=template), UID, SETTINGS, "a", "1")["spec"]["containers"]
    assert container["resources"]["limits"] == {"cpu": "1", "memory": "512Mi"}
    assert container["name"] == "task"


def test_a_rolling_change_goes_on_while_the_task_of_a_savepoint_is_refused() -> None:
    requester = Requester("a@1", snapshots=SNAPSHOTS)
    assert requester.passes() == []
    requester.cluster.change(job(snapshots=SNAPSHOTS, image="example.com/job:8"))
    requester.passes()
    kinds = [type(action) for action in requester.passes()]  # that it was refused is not seen

    assert kinds == [CreatePod, DeletePod]


def test_a_task_that_fails_is_told_in_its_own_words() -> None:
    requester = Requester("again@1", snapshots=SNAPSHOTS)
    requester.passes()
    name = created(requester.passes())["metadata"]["name"]
    requester.task = TaskSeen(name, "uid", PodPhase.FAILED, "there is a savepoint again already")
    requester.passes()

    assert requester.outcome() == ("Refused", "there is a savepoint again already")


def test_an_operator_that_dies_before_the_outcome_is_written_finds_the_task_again() -> None:
    requester = Requester("x@1", snapshots=SNAPSHOTS)
    requester.passes()
    name = created(requester.passes())["metadata"]["name"]
    requester.task = TaskSeen(name, "uid", PodPhase.SUCCEEDED)
    for _ in range(2):  # the first time its status is lost
        actions = plan(requester.observed(), SETTINGS)
        assert not [action for action in actions if isinstance(action, CreatePod | DeletePod)]
    requester.passes()

    assert requester.outcome()[0] == "Done"


def test_a_task_whose_request_was_taken_back_is_removed_when_it_has_ended() -> None:
    requester = Requester("x@1", snapshots=SNAPSHOTS)
    requester.passes()
    name = created(requester.passes())["metadata"]["name"]
    requester.cluster.annotations = {}
    requester.task = TaskSeen(name, "uid", PodPhase.RUNNING)
    assert requester.passes() == []
    requester.task = TaskSeen(name, "uid", PodPhase.FAILED)
    assert requester.passes() == [DeletePod(name, "uid", "it has ended", 0)]


def test_a_request_that_is_too_long_is_cut_and_settles() -> None:
    requester = Requester("x@" + "1" * 2_000, snapshots=SNAPSHOTS)
    requester.passes()
    name = created(requester.passes())["metadata"]["name"]
    requester.task = TaskSeen(name, "uid", PodPhase.SUCCEEDED)
    requester.passes()

    assert requester.outcome()[0] == "Done"


def test_a_nonce_asks_for_a_savepoint_each_time_that_it_changes() -> None:
    names = set()
    for nonce in (1, 2):
        requester = Requester(snapshots=SNAPSHOTS)
        requester.cluster.job = job(snapshots=SNAPSHOTS, savepointNonce=nonce)
        requester.passes()
        names.add(created(requester.passes())["metadata"]["name"])
        assert requester.outcome("savepointNonce")[0] == "Pending"
    assert len(names) == 2


def test_without_snapshots_there_is_no_savepoint() -> None:
    requester = Requester("x@1")
    requester.passes()

    assert requester.outcome() == ("Refused", "the job takes no snapshots: add spec.snapshots")


@pytest.mark.parametrize("spec", [{}, {"savepointNonce": 3}], ids=["annotation", "nonce"])
def test_a_savepoint_of_a_suspended_job_is_refused_at_once(spec: dict[str, Any]) -> None:
    requester = Requester("" if spec else "x@1", snapshots=SNAPSHOTS, suspend=True, **spec)

    assert requester.passes() == []
    outcome, message = requester.outcome("savepointNonce" if spec else "savepoint")
    assert outcome == "Refused"
    assert "Set spec.suspend: false, wait until it is Ready, and retry with another value" in message


def test_a_job_that_is_suspended_before_the_task_is_made_gets_none() -> None:
    requester = Requester("x@1", snapshots=SNAPSHOTS)
    requester.passes()
    requester.cluster.change(job(snapshots=SNAPSHOTS, suspend=True))

    assert not [action for action in requester.passes() if isinstance(action, CreatePod)]
    assert requester.outcome()[0] == "Refused"


def test_a_task_that_ends_after_the_job_was_suspended_is_told_and_removed() -> None:
    requester = Requester("x@1", snapshots=SNAPSHOTS)
    requester.passes()
    name = created(requester.passes())["metadata"]["name"]
    requester.cluster.change(job(snapshots=SNAPSHOTS, suspend=True))
    requester.cluster.pods.clear()
    requester.task = TaskSeen(name, "uid", PodPhase.SUCCEEDED)
    requester.passes()

    assert requester.outcome()[0] == "Done"
    assert requester.passes() == [DeletePod(name, "uid", "it has ended", 0)]


def test_a_task_that_no_node_takes_is_given_up_and_told_why() -> None:
    requester = Requester("x@1", snapshots=SNAPSHOTS)
    requester.passes()
    name = created(requester.passes())["metadata"]["name"]
    created_ms = requester.cluster.now_ms
    requester.task = TaskSeen(name, "uid", PodPhase.PENDING, "0/3 nodes are available", created_ms)
    requester.cluster.now_ms = created_ms + 299_000
    assert requester.passes() == []
    requester.cluster.now_ms = created_ms + 300_000
    requester.passes()

    assert requester.outcome() == ("Refused", "it has not begun within 5 min: 0/3 nodes are available")
    assert requester.passes() == [DeletePod(name, "uid", "it has ended", 0)]
