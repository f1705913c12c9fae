"""Pods are not as they were made: others add containers to them, before ours or beside them, that fail or never end."""

from __future__ import annotations

from typing import Any

import pytest

from tandem_operator.actions import SetStatus
from tandem_operator.observed import Component, ContainerSeen, PodPhase
from tandem_operator.plan import plan
from tandem_operator.plan.blocked import blocked_reason
from tandem_operator.plan.failures import delay_beside, failure_beside
from tandem_operator.resources.pods import pod as made_pod
from tandem_operator.resources.tasks import savepoint
from unit.operator.operator_builders import SETTINGS, UID, job
from unit.operator.shown_pods import only, pod, seen
from unit.operator.tiny_cluster import TinyCluster

DEFAULT = "kubectl.kubernetes.io/default-container"
RUNNING = {"running": {"startedAt": "2026-11-21T20:00:01Z"}}
BEGINNING = {"waiting": {"reason": "PodInitializing"}}
FAILED = {"terminated": {"exitCode": 1, "reason": "Error", "message": "403 from the model store\nand more"}}
NOW_MS = 1_795_291_260_000


def container(name: str, state: dict[str, Any], **told: Any) -> dict[str, Any]:
    return {"name": name, "ready": "running" in state, "restartCount": 0, "state": state, **told}


def starting(init: dict[str, Any], native: bool = False) -> dict[str, Any]:
    """A member's pod whose init container, or native sidecar, `init` is as given, as the watch sees it."""
    main = [container("replica", BEGINNING), container("orderer", BEGINNING)]
    made = pod(0, phase="Pending", initContainerStatuses=[init], containerStatuses=main)
    made["spec"]["initContainers"] = [
        {"name": init["name"], "image": "x", **({"restartPolicy": "Always"} if native else {})}
    ]
    return made


def blocked(made: dict[str, Any], now_ms: int = NOW_MS) -> str:
    return blocked_reason(seen(made)[0].pods, job(), now_ms)


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (
            {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
            "CrashLoopBackOff: 403 from the model store",
        ),
        ({"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}, "ImagePullBackOff: no such image"),
        ({"waiting": {"reason": "CreateContainerConfigError", "message": 'secret "s" not found'}}, "not found"),
        (FAILED, "it ended with exit code 1: 403 from the model store"),
    ],
    ids=["ends again", "no image", "no secret", "ended just now"],
)
def test_an_init_container_that_fails_is_named_with_its_pod_its_reason_and_its_own_words(
    state: dict[str, Any], words: str
) -> None:
    text = blocked(starting(container("fetch-model", state, restartCount=4, lastState=FAILED)))

    assert text.startswith("Pod flights-replica-0-aaaaa waits: init container fetch-model: ")
    assert text.endswith(words)


def test_of_a_trace_of_python_the_last_line_is_told() -> None:
    trace = {
        "terminated": {"exitCode": 1, "message": 'Traceback (most recent call last):\n  File "a"\nOSError: no space\n'}
    }
    back_off = {"waiting": {"reason": "CrashLoopBackOff"}}

    assert blocked(starting(container("fetch", back_off, lastState=trace))).endswith(
        "CrashLoopBackOff: OSError: no space"
    )


def test_an_init_container_that_runs_for_long_is_named() -> None:
    slow = starting(container("fetch-model", RUNNING))

    assert blocked(slow, NOW_MS - 31_000) == ""
    assert blocked(slow, NOW_MS - 28_000).endswith("waits: init container fetch-model has run for more than 30 s")


def test_an_init_container_that_fails_again_and_again_makes_the_job_not_progress() -> None:
    cluster = TinyCluster(job(replicas=2))
    cluster.do(plan(cluster.observed(), SETTINGS))
    failing = ContainerSeen(
        "fetch-model", restarts=4, exit_code=1, message="403", waits="CrashLoopBackOff", is_init=True
    )
    for one in cluster.pods.values():
        one.beside = (failing,)
    status = next(one.status for one in plan(cluster.observed(), SETTINGS) if isinstance(one, SetStatus))

    progressing: Any = next(one for one in status["conditions"] if one["type"] == "Progressing")  # type: ignore[attr-defined]
    assert (progressing["status"], progressing["reason"]) == ("False", "Failing")
    assert "init container fetch-model of replica-0 ended 4 times: 403" in progressing["message"]


def test_one_that_has_ended_well_after_failures_is_forgotten() -> None:
    done = container("fetch-model", {"terminated": {"exitCode": 0}}, restartCount=5, lastState=FAILED)
    made = starting(done)
    made["status"]["containerStatuses"] = [container("replica", RUNNING), container("orderer", RUNNING)]
    one = only(seen(made)[0])

    assert [beside.name for beside in one.beside] == ["orderer"]
    assert (blocked(made), failure_beside(one, NOW_MS), delay_beside(one, NOW_MS, 1)) == ("", "", "")


def test_a_native_sidecar_is_beside_the_others_as_long_as_it_runs() -> None:
    made = starting(container("proxy", RUNNING), native=True)
    (proxy, _) = only(seen(made)[0]).beside

    assert (proxy.name, proxy.is_init, proxy.ready) == ("proxy", False, True)
    assert blocked(made, NOW_MS + 3_600_000) == ""
    broken = container("proxy", {"waiting": {"reason": "CrashLoopBackOff"}}, restartCount=4, lastState=FAILED)
    assert "waits: proxy: CrashLoopBackOff: 403" in blocked(starting(broken, native=True))
    assert "proxy beside replica-0 ended 4 times" in failure_beside(
        only(seen(starting(broken, native=True))[0]), NOW_MS
    )


def test_a_sidecar_that_stands_first_is_not_taken_for_the_replica() -> None:
    proxy = container("istio-proxy", RUNNING, restartCount=7)
    replica = container("replica", {"terminated": {"exitCode": 78, "message": "no such topic"}})
    one = only(seen(pod(0, containerStatuses=[proxy, replica]))[0])

    assert (one.exit_code, one.message, one.restarts) == (78, "no such topic", 0)
    assert [beside.name for beside in one.beside] == ["istio-proxy"]


@pytest.mark.parametrize(("exit_code", "phase"), [(0, PodPhase.SUCCEEDED), (78, PodPhase.FAILED)])
@pytest.mark.parametrize("of_pod", ["Running", "Failed"], ids=["which runs on", "which ends it by its deadline"])
def test_a_task_is_over_when_its_own_container_is_whatever_else_is_in_its_pod(
    exit_code: int, phase: PodPhase, of_pod: str
) -> None:
    ended = {"terminated": {"exitCode": exit_code, "message": "the last words", "finishedAt": "2026-11-21T20:00:09Z"}}
    statuses = [container("istio-proxy", RUNNING), container("task", ended)]
    (task,) = seen(pod(0, "task", phase=of_pod, reason="DeadlineExceeded", containerStatuses=statuses))[0].tasks

    assert (task.phase, task.message, task.ended_ms) == (phase, "the last words", 1_795_291_209_000)


def test_a_task_whose_init_container_failed_says_which_and_why() -> None:
    init, main = container("fetch-model", FAILED), container("task", BEGINNING)
    made = pod(0, "task", phase="Failed", initContainerStatuses=[init], containerStatuses=[main])
    (task,) = seen(made)[0].tasks

    assert task.phase is PodPhase.FAILED
    assert task.message == "init container fetch-model: it ended with exit code 1: 403 from the model store"


def test_a_container_that_is_done_keeps_no_rollout_waiting() -> None:
    assert ContainerSeen("helper", ended=True, exit_code=0).is_settled
    assert not ContainerSeen("helper", ended=True, exit_code=1).is_settled


def test_the_last_words_of_every_container_are_kept_and_kubectl_shows_ours_unless_asked() -> None:
    template = {"spec": {"initContainers": [{"name": "fetch"}], "containers": [{"name": "log", "image": "x"}]}}
    with_both = job(podTemplate=template, snapshots={"store": "s3://bucket/path"})
    member = made_pod(with_both, UID, SETTINGS, Component.MEMBER, 0, "m")
    task = savepoint(with_both, UID, SETTINGS, "s", "w")

    for one in (*member["spec"]["containers"], *member["spec"]["initContainers"]):
        assert one["terminationMessagePolicy"] == "FallbackToLogsOnError"
    assert [one["metadata"]["annotations"][DEFAULT] for one in (member, task)] == ["replica", "task"]
