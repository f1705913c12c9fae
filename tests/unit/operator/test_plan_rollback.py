"""A rollout that fails is rolled back to the last revision that worked, until the spec asks for another one."""

from __future__ import annotations

from typing import Any

import pytest

from tandem_operator.actions import DeletePod, Switch
from tandem_operator.observed import Component
from tandem_operator.plan import plan
from unit.operator.operator_builders import SETTINGS, job
from unit.operator.tiny_cluster import TinyCluster
from unit.operator.tiny_pods import Pod
from unit.operator.tiny_told import progressing, told

BAD = "example.com/bad:2"


def running(**spec: Any) -> TinyCluster:
    """A job that has worked, and breaks with everything that it did not run with then."""
    cluster = TinyCluster(job(**spec))
    cluster.converge()
    good = {pod.template for pod in cluster.pods.values()}
    cluster.breaks = lambda template: template not in good
    return cluster


def members(cluster: TinyCluster) -> list[Pod]:
    return [pod for pod in cluster.pods.values() if pod.component is Component.MEMBER]


@pytest.mark.parametrize("spec", [{"replicas": 2}, {"replicas": 2, "standbys": 1}, {"replicas": 1, "standbys": 1}])
def test_pods_that_end_again_and_again_give_way_to_the_last_ones_that_worked(spec: dict[str, Any]) -> None:
    cluster = running(**spec)
    good = {pod.template for pod in cluster.pods.values()}
    cluster.change(job(**spec, image=BAD))
    reasons = told(cluster, 40)
    assert {pod.template for pod in cluster.pods.values()} == good
    status, reason, message = progressing(cluster)
    assert (status, reason) == ("False", "RolledBack")
    assert "refuses to run: no such module" in message
    assert reasons.index("RollingOut") < reasons.index("RollingBack") < reasons.index("RolledBack")
    assert "RolloutStalled" not in reasons
    assert [entry["reason"] for entry in cluster.status["history"]][-1] == "RolledBack"


def test_the_status_says_what_runs_what_is_asked_for_and_what_failed() -> None:
    cluster = running(replicas=2)
    before = cluster.status["revision"]
    assert before == {"current": before["target"], "target": before["target"]}
    cluster.change(job(replicas=2, image=BAD))
    told(cluster, 40)
    after = cluster.status["revision"]
    assert after["current"] == before["current"]
    assert after["failed"] == after["target"] != after["current"]
    assert "no such module" in after["failure"]


def test_what_was_rolled_back_is_not_tried_again_by_itself() -> None:
    cluster = running(replicas=2)
    cluster.change(job(replicas=2, image=BAD))
    told(cluster, 40)
    made = cluster.made
    cluster.change(job(replicas=2, image=BAD, progressDeadlineSeconds=900))
    cluster.kill_node(members(cluster)[0])
    cluster.converge()
    assert cluster.made == made + 1
    assert progressing(cluster)[1] == "RolledBack"


def test_another_restart_nonce_tries_the_same_again() -> None:
    cluster = running(replicas=2)
    cluster.change(job(replicas=2, image=BAD))
    told(cluster, 40)
    cluster.breaks = lambda _: False
    cluster.change(job(replicas=2, image=BAD, restartNonce=1))
    cluster.converge()
    assert progressing(cluster)[1] == "Complete"
    assert "failed" not in cluster.status["revision"]


def test_the_change_may_be_taken_back_and_replaces_nothing_then() -> None:
    cluster = running(replicas=2)
    cluster.change(job(replicas=2, image=BAD))
    told(cluster, 40)
    before = set(cluster.pods)
    cluster.change(job(replicas=2))
    cluster.converge()
    assert set(cluster.pods) == before
    assert progressing(cluster)[1] == "Complete"


def test_one_that_does_not_reach_the_head_in_time_is_given_up_and_not_before() -> None:
    cluster = running(replicas=2, progressDeadlineSeconds=300)
    cluster.breaks = lambda _: False
    cluster.change(job(replicas=2, progressDeadlineSeconds=300, image=BAD))
    told(cluster, 3)
    new = max(members(cluster), key=lambda pod: pod.created_ms)
    cluster.stuck.add(new.template)
    told(cluster, 50)
    assert progressing(cluster)[1] == "RollingOut"
    told(cluster, 30)
    assert progressing(cluster)[1] == "RolledBack"
    assert "has not caught up after 300 s" in progressing(cluster)[2]


def test_one_that_computes_other_rows_is_given_up_at_once() -> None:
    cluster = running(replicas=2)
    cluster.breaks = lambda _: False
    cluster.change(job(replicas=2, image=BAD))
    told(cluster, 3)
    new = max(members(cluster), key=lambda pod: pod.created_ms)
    new.diverged = True
    told(cluster, 30)
    assert progressing(cluster)[1] == "RolledBack"
    assert "computed other rows" in progressing(cluster)[2]


def test_new_pods_that_work_already_go_back_one_at_a_time_and_the_publisher_last() -> None:
    cluster = running(replicas=3)
    good = {pod.template for pod in cluster.pods.values()}
    cluster.breaks = lambda _: False
    cluster.change(job(replicas=3, image=BAD))
    for _ in range(40):
        if sum(pod.template not in good for pod in cluster.actives()) == 2:
            break
        told(cluster, 1)
    cluster.breaks = lambda template: template not in good
    told(cluster, 60)  # of those at the head, the cluster lets go one at a time only
    assert {pod.template for pod in cluster.pods.values()} == good
    assert progressing(cluster)[1] == "RolledBack"


def test_a_pod_that_dies_during_a_rollout_comes_back_as_it_worked_last() -> None:
    cluster = running(replicas=2)
    good = {pod.template for pod in cluster.pods.values()}
    cluster.change(job(replicas=2, image=BAD, progressDeadlineSeconds=3600))
    cluster.breaks = lambda _: False
    told(cluster, 3)
    (old,) = [pod for pod in members(cluster) if pod.template in good]
    cluster.stuck.update(pod.template for pod in members(cluster) if pod is not old)
    cluster.kill_node(old)
    for _ in range(8):
        cluster.do(plan(cluster.observed(), SETTINGS))
        cluster.step()
    assert [pod.template in good for pod in cluster.actives()] == [True]


def test_while_the_old_ones_fail_too_nobody_is_blamed() -> None:
    cluster = running(replicas=2)
    cluster.change(job(replicas=2, image=BAD))
    told(cluster, 2)
    for pod in members(cluster):
        pod.broken = True  # Kafka is away
    for _ in range(20):
        cluster.do(plan(cluster.observed(), SETTINGS))
        cluster.step()
    assert "failed" not in cluster.status["revision"]


def test_tasks_are_made_from_what_worked() -> None:
    cluster = running(replicas=1, standbys=1)
    cluster.change(job(replicas=1, standbys=1, image=BAD))
    told(cluster, 40)
    cluster.annotations["tandem.dev/drain"] = f"replica-{cluster.actives()[0].index}"
    told(cluster, 1)
    (switch,) = [action for action in plan(cluster.observed(), SETTINGS) if isinstance(action, Switch)]
    assert switch.job is not None
    assert switch.job.spec.image == SETTINGS.image


def test_a_job_that_never_worked_has_nothing_to_go_back_to() -> None:
    cluster = TinyCluster(job(replicas=2), breaks=lambda _: True)
    for _ in range(10):
        cluster.do(plan(cluster.observed(), SETTINGS))
        cluster.step()
    assert cluster.revisions == {}
    assert progressing(cluster)[1] == "Refused"


def test_revisions_that_worked_are_kept_up_to_the_limit_the_newest_ones() -> None:
    cluster = running(replicas=2, revisionHistoryLimit=2)
    cluster.breaks = lambda _: False
    for nonce in range(4):
        cluster.change(job(replicas=2, revisionHistoryLimit=2, restartNonce=nonce))
        cluster.converge()
    kept = sorted(cluster.revisions.values(), key=lambda revision: revision["revision"])
    assert [revision["data"]["spec"]["restartNonce"] for revision in kept] == [2, 3]
    cluster.change(job(replicas=2, revisionHistoryLimit=0, restartNonce=3))
    cluster.converge()
    assert cluster.revisions == {}


def test_counts_make_no_new_revision() -> None:
    cluster = running(replicas=2)
    cluster.breaks = lambda _: False
    for spec in ({"replicas": 3}, {"replicas": 2, "savepointNonce": 4}, {"replicas": 2, "suspend": True}):
        cluster.change(job(**spec))
        cluster.converge()
    assert len(cluster.revisions) == 1


def test_generators_are_touched_only_when_a_member_has_shown_that_the_new_version_runs() -> None:
    ordering = {"mode": "heartbeat", "generators": 1}
    cluster = running(replicas=2, ordering=ordering)
    generator = next(pod.name for pod in cluster.pods.values() if pod.component is Component.GENERATOR)
    cluster.change(job(replicas=2, ordering=ordering, image=BAD))
    told(cluster, 40)
    assert generator in cluster.pods
    assert progressing(cluster)[1] == "RolledBack"


def test_nothing_is_left_to_do_when_all_is_rolled_back() -> None:
    cluster = running(replicas=2, standbys=1)
    cluster.change(job(replicas=2, standbys=1, image=BAD))
    told(cluster, 40)
    cluster.converge()
    deleted = [action for action in plan(cluster.observed(), SETTINGS) if isinstance(action, DeletePod)]
    assert deleted == []
