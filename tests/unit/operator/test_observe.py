"""What a pass sees of a job: its pods as Kubernetes tells of them, and what their processes report."""

from __future__ import annotations

import pytest

from tandem.process.ending import End, EndKind
from tandem.protocol.switchover import Holder, Role
from tandem.status.report import OrdererReport, ReplicaReport
from tandem_operator.observed import ContainerSeen, PodPhase
from tandem_operator.plan.roster import ended
from tandem_operator.resources.manifest import METRICS_PORT, ORDERER_METRICS_PORT
from unit.operator.shown_pods import Answers, only, pod, seen


def test_a_running_pod_is_seen_as_it_is() -> None:
    conditions = [{"type": "Ready", "status": "True"}]
    one = only(seen(pod(1, conditions=conditions))[0])

    assert (one.name, one.uid, one.index, one.node, one.ip) == ("flights-replica-1-aaaaa", "uid-1", 1, "n1", "10.0.0.1")
    assert (one.phase, one.ready, one.template) == (PodPhase.RUNNING, True, "t1")
    assert one.created_ms == 1_795_291_200_000


def test_it_is_seen_since_when_a_pod_is_not_ready() -> None:
    since = {"type": "Ready", "lastTransitionTime": "2026-11-21T20:00:01Z"}

    assert only(seen(pod(1, conditions=[{**since, "status": "False"}]))[0]).unready_ms == 1_795_291_201_000
    assert only(seen(pod(1, conditions=[{**since, "status": "True"}]))[0]).unready_ms == 0
    assert only(seen(pod(1))[0]).unready_ms == 0


SINCE = "2026-11-21T20:00:01Z"
SCHEDULED = {"type": "PodScheduled", "status": "True", "lastTransitionTime": SINCE}
CREATING = [{"name": "replica", "state": {"waiting": {"reason": "ContainerCreating"}}}]


def test_it_is_seen_what_a_container_waits_for() -> None:
    waiting = {"reason": "ErrImagePull", "message": "no such host"}
    one = only(seen(pod(1, containerStatuses=[{"name": "replica", "state": {"waiting": waiting}}]))[0])

    assert (one.waits, one.message) == ("ErrImagePull", "ErrImagePull: no such host")


def test_it_is_seen_that_no_node_takes_a_pod() -> None:
    unscheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    one = only(seen(pod(1, conditions=[unscheduled]))[0])

    assert (one.waits, one.message) == ("Unschedulable", "0/3 nodes")


@pytest.mark.parametrize(("told", "since_ms"), [(None, 1_795_291_201_000), ("False", 1_795_291_201_000), ("True", 0)])
def test_a_pod_that_has_all_but_its_image_is_not_seen_to_wait_for_its_volumes(told: str | None, since_ms: int) -> None:
    has_all = [] if told is None else [{"type": "PodReadyToStartContainers", "status": told}]
    one = only(seen(pod(1, conditions=[SCHEDULED, *has_all], containerStatuses=CREATING))[0])

    assert (one.waits, one.unmounted_ms) == ("ContainerCreating", since_ms)


def test_a_pod_that_runs_waits_for_no_volumes() -> None:
    running = [{"name": "replica", "state": {"running": {"startedAt": SINCE}}}]

    assert only(seen(pod(1, conditions=[SCHEDULED], containerStatuses=running))[0]).unmounted_ms == 0


def test_what_a_deleted_job_of_the_same_name_left_behind_is_not_seen() -> None:
    left = pod(0)
    left["metadata"]["ownerReferences"] = [{"uid": "the one before"}]
    task = {**left, "metadata": {**left["metadata"], "name": "flights-promote-aaaaa"}}
    task["metadata"]["labels"] = {**task["metadata"]["labels"], "app.kubernetes.io/component": "task"}

    observed, told = seen(left, task)

    assert (observed.pods, observed.tasks, told.asked) == ((), (), [])


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded", "Failed"])
def test_phases_are_kubernetes_own(phase: str) -> None:
    assert only(seen(pod(0, phase=phase))[0]).phase == phase


def test_a_pod_that_is_being_deleted_or_of_unknown_phase_is_lost() -> None:
    deleted = pod(0)
    deleted["metadata"]["deletionTimestamp"] = "2026-11-21T20:10:00Z"
    one = only(seen(deleted)[0])

    assert (one.phase, one.deleting, one.node_lost) == (PodPhase.LOST, True, False)
    assert only(seen(pod(0, phase="Unknown"))[0]).phase is PodPhase.LOST


def test_a_pod_on_a_dead_node_is_lost_and_not_asked() -> None:
    observed, told = seen(pod(0), dead_node="n0")

    assert (only(observed).phase, only(observed).node_lost) == (PodPhase.LOST, True)
    assert told.asked == []


def test_why_a_container_ended_or_waits_is_told() -> None:
    ended = {
        "name": "replica",
        "restartCount": 4,
        "lastState": {"terminated": {"exitCode": 78, "message": "no topic x"}},
    }
    waits = {"name": "replica", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}}
    unscheduled = [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]

    one = only(seen(pod(0, containerStatuses=[ended]))[0])
    assert (one.restarts, one.exit_code, one.message) == (4, 78, "no topic x")
    assert only(seen(pod(0, containerStatuses=[waits]))[0]).message == "ImagePullBackOff: not found"
    assert only(seen(pod(0, conditions=unscheduled))[0]).message == "0/3 nodes are available"


def test_how_a_process_ended_is_what_it_said_itself() -> None:
    end = End(EndKind.DIVERGED, "epoch 7: computed other rows", "DivergedError", 7, came_up=True, pid=9)
    said = {"terminated": {"exitCode": 78, "message": end.encode()}}
    killed = {"terminated": {"exitCode": 137, "message": "Killed"}}

    one = only(seen(pod(0, containerStatuses=[{"name": "replica", "lastState": said}]))[0])
    assert (one.end, one.message) == (EndKind.DIVERGED, "epoch 7: computed other rows")
    later = {"name": "replica", "state": killed, "lastState": said}
    one = only(seen(pod(0, containerStatuses=[later]))[0])
    assert (one.end, one.message) == (None, "Killed"), "the newest end counts"


@pytest.mark.parametrize(
    ("reason", "message", "told"),
    [
        ("OOMKilled", "epoch 7", ": epoch 7"),
        ("OOMKilled", "", ""),
    ],
)
def test_a_container_that_was_killed_for_its_memory_is_told_so_with_its_last_words(
    reason: str, message: str, told: str
) -> None:
    ended = {"exitCode": 137, "reason": reason, "message": message}
    replica = {"name": "replica", "restartCount": 4, "state": {"terminated": ended}}
    words = "OOMKilled, it needs more memory than its limit, which spec.resources or a LimitRange of the namespace sets"

    assert only(seen(pod(0, containerStatuses=[replica]))[0]).message == words + told


def test_why_a_node_has_ended_a_pod_is_told_rather_than_what_its_containers_said() -> None:
    replica = {"name": "replica", "state": {"terminated": {"exitCode": 137, "message": "epoch 7"}}}
    fate = {"reason": "Evicted", "message": "The node was low on resource: ephemeral-storage."}

    told = only(seen(pod(0, phase="Failed", containerStatuses=[replica], **fate))[0])
    assert told.message == "Evicted: The node was low on resource: ephemeral-storage."


def test_another_end_that_kubernetes_gives_a_container_is_told_by_its_name() -> None:
    ended = {"exitCode": 128, "reason": "ContainerCannotRun", "message": "no such file"}
    replica = {"name": "replica", "state": {"terminated": ended}}

    assert only(seen(pod(0, containerStatuses=[replica]))[0]).message == "ContainerCannotRun: no such file"


def test_a_replica_that_its_probe_had_started_again_was_not_drained() -> None:
    well = {"terminated": {"exitCode": 0}}
    running = {"name": "replica", "state": {"running": {"startedAt": "2026-11-21T20:00:10Z"}}, "lastState": well}
    waiting = {"name": "replica", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": well}
    drained = {"name": "replica", "state": well}

    assert not ended(only(seen(pod(0, containerStatuses=[running]))[0]))
    assert not ended(only(seen(pod(0, containerStatuses=[waiting]))[0]))
    assert ended(only(seen(pod(0, containerStatuses=[drained]))[0]))


def test_a_member_is_ready_when_its_main_container_is() -> None:
    conditions = [{"type": "Ready", "status": "False"}, {"type": "ContainersReady", "status": "False"}]
    replica = {"name": "replica", "ready": True, "state": {"running": {"startedAt": "2026-11-21T20:00:10Z"}}}
    terminated = {"exitCode": 78, "message": "no quorum"}
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    orderer = {
        "name": "orderer",
        "ready": False,
        "restartCount": 3,
        "state": waiting,
        "lastState": {"terminated": terminated},
    }
    one = only(seen(pod(0, conditions=conditions, containerStatuses=[orderer, replica]))[0])

    assert one.ready
    assert one.started_ms == one.created_ms + 10_000
    assert one.beside == (
        ContainerSeen("orderer", restarts=3, exit_code=78, message="no quorum", waits="CrashLoopBackOff"),
    )


def test_a_member_whose_node_does_not_answer_is_not_ready() -> None:
    conditions = [{"type": "Ready", "status": "False"}, {"type": "ContainersReady", "status": "True"}]
    replica = {"name": "replica", "ready": True}

    assert not only(seen(pod(0, conditions=conditions, containerStatuses=[replica]))[0]).ready


def test_when_a_task_ended_and_what_it_said_is_seen() -> None:
    ended = {"exitCode": 1, "message": "no standby", "finishedAt": "2026-11-21T20:00:30Z"}
    statuses = [{"name": "task", "state": {"terminated": ended}}]
    (task,) = seen(pod(2, component="task", phase="Failed", containerStatuses=statuses))[0].tasks

    assert (task.message, task.ended_ms - task.created_ms, task.has_ended) == ("no standby", 30_000, True)


def test_a_task_on_a_dead_node_has_failed_unless_it_had_ended() -> None:
    (task,) = seen(pod(2, component="task", phase="Running"), dead_node="n2")[0].tasks
    assert (task.has_failed(0), task.words) == (True, "its node, n2, is lost")

    ended = [{"name": "task", "state": {"terminated": {"exitCode": 0}}}]
    (task,) = seen(pod(2, component="task", phase="Running", containerStatuses=ended), dead_node="n2")[0].tasks
    assert task.phase is PodPhase.SUCCEEDED


def test_executors_and_tasks_are_no_members() -> None:
    observed, _ = seen(pod(0), pod(1, component="executor"), pod(2, component="task"))

    assert only(observed).index == 0


def test_what_replicas_and_orderers_report_is_put_together() -> None:
    first, second = "flights.replica-0.aa", "flights.replica-1.bb"
    roles = {first: "is at the head", second: "stands by"}
    answers: Answers = {
        ("10.0.0.0", METRICS_PORT): ReplicaReport(
            "replica-0", first, "active", ready=True, epoch=7, coordinated=True, slots={0: first}, roles=roles
        ),
        ("10.0.0.1", METRICS_PORT): ReplicaReport("replica-1", second, "standby"),
        ("10.0.0.0", ORDERER_METRICS_PORT): OrdererReport("orderer-0"),
        ("10.0.0.1", ORDERER_METRICS_PORT): OrdererReport("orderer-1", leading=True, lag_records=17),
    }
    observed, _ = seen(pod(0), pod(1), answers=answers)

    assert [one.reported.epoch for one in observed.pods if one.reported] == [7, -1]
    assert observed.leader == "orderer-1"
    assert [one.orderer.lag_records for one in observed.pods if one.orderer] == [0, 17]
    assert observed.view is not None
    assert observed.view.holders == {0: Holder(first)}
    assert observed.view.roles == {first: Role.READY, second: Role.STANDBY}


def test_a_generator_tells_of_itself_where_a_replica_does() -> None:
    answers: Answers = {("10.0.0.0", METRICS_PORT): OrdererReport("generator-0", leading=True, lag_records=17)}
    one = only(seen(pod(0, component="generator"), answers=answers)[0])

    assert one.reported is None
    assert one.orderer is not None
    assert one.orderer.lag_records == 17


def test_a_replica_that_zookeeper_does_not_answer_is_not_asked_about_slots() -> None:
    report = ReplicaReport("replica-0", "i", "active", coordinated=False, slots={0: "i"}, roles={"i": "stands by"})

    assert seen(pod(0), answers={("10.0.0.0", METRICS_PORT): report})[0].view is None


def test_another_process_on_the_pods_address_is_not_believed() -> None:
    report = ReplicaReport("replica-5", "i", "active", ready=True)

    assert only(seen(pod(0), answers={("10.0.0.0", METRICS_PORT): report})[0]).reported is None
