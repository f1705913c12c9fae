"""Which pods a job gets, and which it loses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tandem.process.ending import EndKind
from tandem.protocol.switchover import HandoverRequest
from tandem_operator.actions import Action, CreatePod, DeletePod, Emit, Switch
from tandem_operator.observed import PodPhase
from tandem_operator.plan import plan
from unit.operator.operator_builders import SETTINGS, job
from unit.operator.tiny_cluster import TinyCluster
from unit.operator.tiny_pods import Pod


def _running(**spec: object) -> TinyCluster:
    cluster = TinyCluster(job(**spec))
    cluster.converge()
    return cluster


def _created(actions: tuple[Action, ...]) -> list[str]:
    return [action.pod["metadata"]["name"] for action in actions if isinstance(action, CreatePod)]


def _deleted(actions: tuple[Action, ...]) -> list[DeletePod]:
    return [action for action in actions if isinstance(action, DeletePod)]


def _pod(cluster: TinyCluster, index: int) -> Pod:
    return next(pod for pod in cluster.pods.values() if pod.index == index)


def test_a_new_job_gets_its_manifest_before_its_pods_and_its_status_last() -> None:
    actions = plan(TinyCluster(job(replicas=2, standbys=1)).observed(), SETTINGS)
    kinds = [type(action).__name__ for action in actions]
    assert kinds.index("Apply") < kinds.index("CreatePod")
    assert kinds[-1] == "SetStatus"
    assert [name.rpartition("-")[0] for name in _created(actions)] == [f"flights-replica-{index}" for index in range(3)]


def test_a_job_with_heartbeats_gets_its_generators() -> None:
    cluster = _running(ordering={"mode": "heartbeat", "generators": 3})
    assert sorted(pod.name.rpartition("-")[0] for pod in cluster.pods.values()) == [
        *(f"flights-generator-{index}" for index in range(3)),
        *(f"flights-replica-{index}" for index in range(2)),
    ]


def test_a_pod_on_a_lost_node_is_replaced_at_once_and_removed_only_when_its_successor_works() -> None:
    cluster = _running(replicas=2)
    lost = _pod(cluster, 1)
    cluster.kill_node(lost)
    actions = plan(cluster.observed(), SETTINGS)
    assert [name.rpartition("-")[0] for name in _created(actions)] == ["flights-replica-1"]
    assert not _deleted(actions)
    cluster.do(actions)
    while lost.name in cluster.pods:
        ready = [pod for pod in cluster.actives() if not pod.node_lost]
        actions = plan(cluster.observed(), SETTINGS)
        for deleted in _deleted(actions):
            assert (deleted.name, deleted.grace_s) == (lost.name, 0)
            assert len(ready) == 2
        cluster.do(actions)
        cluster.step()


def test_no_pod_is_removed_when_all_nodes_seem_to_be_lost() -> None:
    cluster = _running(replicas=2, standbys=1)
    for pod in cluster.pods.values():
        pod.node_lost = True
    for _ in range(3):
        actions = plan(cluster.observed(), SETTINGS)
        assert not _deleted(actions)
        cluster.do(actions)


def test_why_a_node_has_evicted_a_pod_is_told_before_the_pod_is_removed() -> None:
    cluster = _running(replicas=2)
    observed = cluster.observed()
    words = "Evicted: The node was low on resource: ephemeral-storage"
    first, *others = observed.pods
    evicted = replace(first, phase=PodPhase.FAILED, ready=False, message=words, created_ms=observed.now_ms - 60_000)
    actions = plan(replace(observed, pods=(evicted, *others)), SETTINGS)

    told = next(one for one in actions if isinstance(one, Emit) and one.reason == "PodFailed")
    (removed,) = _deleted(actions)
    assert (told.type, told.message) == ("Warning", f"Pod {first.name} failed: {words}")
    assert told.once == removed.uid == first.uid
    assert actions.index(told) < actions.index(removed)


def test_a_pod_that_is_being_deleted_is_left_to_hand_over_and_replaced_meanwhile() -> None:
    cluster = _running(replicas=2, standbys=1)
    leaving = _pod(cluster, 0)
    leaving.deleting = True
    actions = plan(cluster.observed(), SETTINGS)
    assert not _deleted(actions)
    assert len(_created(actions)) == 1
    assert leaving.name not in _created(actions)


def test_a_drained_replica_is_replaced_although_its_orderer_still_runs() -> None:
    cluster = _running(replicas=2)
    drained = _pod(cluster, 0)
    drained.exit_code, drained.end, drained.age = 0, EndKind.DRAINED, 0
    actions = plan(cluster.observed(), SETTINGS)
    assert [deleted.name for deleted in _deleted(actions)] == [drained.name]
    assert len(_created(actions)) == 1


@pytest.mark.parametrize("phase", [PodPhase.RUNNING, PodPhase.SUCCEEDED])
def test_a_replica_that_ended_by_itself_is_told_of_and_replaced_but_not_in_a_storm(phase: PodPhase) -> None:
    cluster = _running(replicas=2)
    ended = _pod(cluster, 0)
    ended.exit_code, ended.phase, ended.age, ended.created_ms = 0, phase, 0, cluster.now_ms - 59_000
    actions = plan(cluster.observed(), SETTINGS)
    assert not _created(actions)
    assert not _deleted(actions)

    cluster.now_ms += 1_000
    actions = plan(cluster.observed(), SETTINGS)
    told = next(one for one in actions if isinstance(one, Emit) and one.reason == "PodFailed")
    assert "replica-0 ended by itself: nobody had asked it to, and its exit code is 0" in told.message
    assert [(one.name, one.why) for one in _deleted(actions)] == [(ended.name, "its process ended by itself")]
    assert [name.rpartition("-")[0] for name in _created(actions)] == ["flights-replica-0"]


def test_scaling_down_removes_a_standby_before_any_active() -> None:
    cluster = _running(replicas=2, standbys=2)
    standbys = {pod.name for pod in cluster.standbys()}
    cluster.change(job(replicas=2, standbys=1))
    deleted = _deleted(plan(cluster.observed(), SETTINGS))
    assert len(deleted) == 1
    assert deleted[0].name in standbys


def test_an_active_that_is_one_too_many_gives_its_slot_up_to_nobody() -> None:
    cluster = _running(replicas=3, standbys=1)
    last = cluster.slots[2]
    cluster.change(job(replicas=2, standbys=1))
    actions = plan(cluster.observed(), SETTINGS)
    switches = [action for action in actions if isinstance(action, Switch)]
    assert switches == [Switch(last.split(".")[1], None, drains=True)]
    assert not _deleted(actions)


def test_without_slots_the_highest_index_that_does_not_publish_goes() -> None:
    cluster = _running(replicas=3)
    cluster.change(job(replicas=2))
    assert [deleted.name for deleted in _deleted(plan(cluster.observed(), SETTINGS))] == [_pod(cluster, 2).name]


@pytest.mark.parametrize("count", [1, 3])
def test_of_members_that_say_nothing_none_is_removed(count: int) -> None:
    cluster = _running(replicas=3)
    for pod in list(cluster.pods.values())[:count]:
        pod.silent = True
    cluster.change(job(replicas=2, restartNonce=7))
    assert not _deleted(plan(cluster.observed(), SETTINGS))


def test_without_zookeeper_nobody_who_works_has_to_leave() -> None:
    cluster = _running(replicas=2, standbys=1)
    cluster.knows_slots = False
    cluster.change(job(replicas=1, standbys=1, restartNonce=7))
    actions = plan(cluster.observed(), SETTINGS)
    assert not _deleted(actions)
    assert not [action for action in actions if isinstance(action, Switch)]


def test_while_a_switchover_is_under_way_nobody_else_leaves() -> None:
    cluster = _running(replicas=2, standbys=2)
    cluster.change(job(replicas=1, standbys=1, restartNonce=7))
    observed = cluster.observed()
    assert observed.view is not None
    switching = replace(observed.view, request=HandoverRequest("1", "replica-0", "flights.replica-2.aa"))
    actions = plan(replace(observed, view=switching), SETTINGS)
    assert not _deleted(actions)
    assert not [action for action in actions if isinstance(action, Switch)]


def test_a_pod_that_failed_at_once_is_neither_removed_nor_replaced_at_once() -> None:
    cluster = _running(replicas=2)
    rejected = _pod(cluster, 1)
    rejected.phase, rejected.created_ms = PodPhase.FAILED, cluster.now_ms - 9_000
    actions = plan(cluster.observed(), SETTINGS)
    assert not _created(actions)
    assert not _deleted(actions)

    cluster.now_ms += 1_000
    actions = plan(cluster.observed(), SETTINGS)
    assert [name.rpartition("-")[0] for name in _created(actions)] == ["flights-replica-1"]
    assert [deleted.name for deleted in _deleted(actions)] == [rejected.name]


def test_a_generator_that_failed_at_once_is_not_replaced_at_once() -> None:
    cluster = _running(replicas=2, ordering={"mode": "heartbeat", "generators": 2})
    rejected = next(pod for pod in cluster.pods.values() if "generator-1" in pod.name)
    rejected.phase, rejected.created_ms = PodPhase.FAILED, cluster.now_ms - 9_000
    actions = plan(cluster.observed(), SETTINGS)
    assert not _created(actions)
    assert not _deleted(actions)


def test_manifests_that_no_pod_reads_any_more_are_deleted() -> None:
    cluster = _running(replicas=2)
    before = {name for kind, name in cluster.objects if kind == "ConfigMap"}
    cluster.change(job(replicas=2, takeOver={"maxBound": "2s"}))
    cluster.converge()
    after = {name for kind, name in cluster.objects if kind == "ConfigMap"}
    assert len(before) == len(after) == 1
    assert before != after


def test_an_object_that_somebody_changed_is_applied_again() -> None:
    cluster = _running(replicas=2)
    cluster.objects["PodDisruptionBudget", "flights"] = "changed"
    actions = plan(cluster.observed(), SETTINGS)
    assert [type(action).__name__ for action in actions] == ["Apply"]


def test_a_node_that_comes_back_leaves_one_pod_for_each_replica() -> None:
    cluster = _running(replicas=2, standbys=1)
    first = _pod(cluster, 1)
    cluster.kill_node(first)
    cluster.do(plan(cluster.observed(), SETTINGS))
    first.node_lost = False
    _pod(cluster, 2).phase = PodPhase.FAILED
    cluster.converge()
    assert sorted(pod.index for pod in cluster.pods.values()) == [0, 1, 2]
    assert first.name in cluster.pods
