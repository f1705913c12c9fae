"""A switchover that failed is tried again after a while, not over and over, and its end is told once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem_operator.actions import Action, DeletePod, Emit, SetStatus, Switch
from tandem_operator.observed import Observed, PodPhase, TaskSeen
from tandem_operator.plan import plan
from tandem_operator.resources import tasks
from unit.operator.operator_builders import SETTINGS, UID, job
from unit.operator.tiny_cluster import TinyCluster

SPEC = job(replicas=2, standbys=1)


def switching() -> Observed:
    """A job with an active that is one too many: it shall give up its slot."""
    cluster = TinyCluster(job(replicas=3, standbys=1))
    cluster.converge()
    cluster.change(SPEC)
    return cluster.observed()


def failed(observed: Observed, seconds: float, kind: str = "drain", ended: bool = True) -> TaskSeen:
    """A task that failed so long ago."""
    at_ms = observed.now_ms - int(seconds * 1000)
    times = {"created_ms": at_ms - 20_000, "ended_ms": at_ms} if ended else {"created_ms": at_ms}
    return TaskSeen(f"flights-{kind}-0123abcd", "task-uid", PodPhase.FAILED, "no standby", **times)


def about_switches(observed: Observed, *seen: TaskSeen) -> list[Action]:
    actions = plan(replace(observed, tasks=seen), SETTINGS)
    return [
        action
        for action in actions
        if isinstance(action, Switch | DeletePod) or (isinstance(action, Emit) and action.once)
    ]


def test_a_switch_is_not_asked_for_again_while_one_failed_a_moment_ago() -> None:
    observed = switching()
    (asked,) = about_switches(observed)
    assert isinstance(asked, Switch)

    assert about_switches(observed, failed(observed, 59)) == []
    assert about_switches(observed, failed(observed, 59, ended=False)) == []
    assert about_switches(observed, failed(observed, 59, "promote")) == [asked]


def test_a_task_that_failed_is_removed_after_a_minute_and_its_words_are_told_once() -> None:
    observed = switching()
    asked, removed, told = about_switches(observed, failed(observed, 60))

    assert isinstance(asked, Switch)
    assert removed == DeletePod("flights-drain-0123abcd", "task-uid", "it has ended", 0)
    assert told == Emit("Warning", "SwitchFailed", "flights-drain-0123abcd failed: no standby", once="task-uid")


def test_a_task_that_succeeded_is_removed_at_once_and_one_that_runs_is_left() -> None:
    cluster = TinyCluster(SPEC)
    cluster.converge()
    done, runs = (
        TaskSeen("flights-promote-aaaa", "a", PodPhase.SUCCEEDED),
        TaskSeen("flights-drain-bbbb", "b", PodPhase.RUNNING),
    )

    assert about_switches(cluster.observed(), done, runs) == [DeletePod(done.name, "a", "it has ended", 0)]


@pytest.mark.parametrize(
    ("phase", "minutes", "what"), [(PodPhase.PENDING, 5, "begun"), (PodPhase.RUNNING, 11, "ended")], ids=str
)
def test_a_task_that_does_not_begin_or_end_in_time_is_given_up_and_its_reason_told(
    phase: PodPhase, minutes: int, what: str
) -> None:
    observed = switching()
    name, created_ms = "flights-drain-0123abcd", observed.now_ms - minutes * 60_000
    task = TaskSeen(name, "task-uid", phase, "0/3 nodes are available", created_ms)
    (asked,) = about_switches(observed, replace(task, created_ms=created_ms + 1))
    assert isinstance(asked, Switch)

    _, removed, told = about_switches(observed, task)
    assert removed == DeletePod(name, "task-uid", "it has ended", 0)
    words = f"{name} failed: it has not {what} within {minutes} min: 0/3 nodes are available"
    assert told == Emit("Warning", "SwitchFailed", words, once="task-uid")


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        (PodPhase.PENDING, "Task flights-drain-0123abcd waits: 0/3 nodes are available"),
        (PodPhase.FAILED, "Task flights-drain-0123abcd failed: 0/3 nodes are available"),
    ],
    ids=str,
)
def test_a_rollout_says_which_task_it_waits_for(phase: PodPhase, words: str) -> None:
    cluster = TinyCluster(job(replicas=2, standbys=1))
    cluster.converge()
    cluster.change(job(replicas=2, standbys=1, image="example.com/flights:2"))
    cluster.do(plan(cluster.observed(), SETTINGS))
    observed = cluster.observed()
    created_ms = observed.now_ms - 31_000
    task = TaskSeen("flights-drain-0123abcd", "task-uid", phase, "0/3 nodes are available", created_ms, created_ms)
    (status,) = (a.status for a in plan(replace(observed, tasks=(task,)), SETTINGS) if isinstance(a, SetStatus))
    (progressing,) = (one for one in status["conditions"] if one["type"] == "Progressing")

    assert words in progressing["message"]


def test_tasks_are_told_apart_by_their_names() -> None:
    promotion = tasks.promotion(SPEC, UID, SETTINGS, "replica-0", "replica-1")
    drain = tasks.drain(SPEC, UID, SETTINGS, "replica-0", to_nobody=False)
    savepoint = tasks.savepoint(SPEC, UID, SETTINGS, "drain-1", "1")

    cleanup = tasks.cleanup(SPEC, UID, SETTINGS, 1)

    kinds = [tasks.kind_of("flights", task["metadata"]["name"]) for task in (promotion, drain, savepoint, cleanup)]
    assert kinds == [tasks.PROMOTE, tasks.DRAIN, tasks.SAVEPOINT, tasks.TOPICS]
