"""A changed image, template or nonce replaces the members one at a time; a changed configuration replaces none."""

from __future__ import annotations

from typing import Any

from tandem_operator.actions import CreatePod, DeletePod, Emit, Switch, TryPod
from tandem_operator.observed import ContainerSeen
from tandem_operator.plan import plan
from tandem_operator.plan.refused import waits
from tandem_operator.resources.names import CONFIG, MANIFEST
from unit.operator.operator_builders import SETTINGS, job
from unit.operator.tiny_cluster import BROKEN_ORDERER, TinyCluster
from unit.operator.tiny_pods import Pod


def _running(**spec: object) -> TinyCluster:
    cluster = TinyCluster(job(**spec))
    cluster.converge()
    return cluster


def _condition(cluster: TinyCluster, name: str) -> dict[str, Any]:
    return next(condition for condition in cluster.status["conditions"] if condition["type"] == name)


def _first(cluster: TinyCluster) -> Pod:
    return min(cluster.pods.values(), key=lambda pod: pod.index)


def _passes(cluster: TinyCluster, count: int) -> None:
    for _ in range(count):
        cluster.do(plan(cluster.observed(), SETTINGS))
        cluster.step()


def test_standbys_are_replaced_first_and_the_publisher_last_after_a_switchover() -> None:
    cluster = _running(replicas=2, standbys=1)
    standby, publisher = cluster.standbys()[0].name, cluster.actives()[0]
    cluster.change(job(replicas=2, standbys=1, image="example.com/flights:2"))
    order: list[str] = []
    for _ in range(40):
        actions = plan(cluster.observed(), SETTINGS)
        order += [action.name for action in actions if isinstance(action, DeletePod)]
        order += [f"switch {action.leaves}" for action in actions if isinstance(action, Switch)]
        cluster.do(actions)
        cluster.step()
    assert order[0] == standby
    assert order[-2:] == [f"switch replica-{publisher.index}", publisher.name]
    assert len(order) == 4


def test_no_pod_too_many_is_made_while_a_standby_that_took_over_gets_to_the_head() -> None:
    cluster = _running(replicas=2, standbys=1)
    before = cluster.made
    cluster.change(job(replicas=2, standbys=1, image="example.com/flights:2"))
    switches = 0
    for _ in range(60):
        actions = plan(cluster.observed(), SETTINGS)
        cluster.do(actions)
        cluster.step()
        if any(isinstance(action, Switch) for action in actions):
            switches += 1
            (successor,) = (pod for pod in cluster.actives() if cluster.slot(pod) == 0)
            successor.age = 2
    assert switches
    assert cluster.made - before == 3


def test_nothing_more_is_replaced_while_the_new_one_is_not_at_the_head() -> None:
    cluster = _running(replicas=2)
    cluster.change(job(replicas=2, restartNonce=1))
    removed = 0
    for _ in range(4):
        actions = plan(cluster.observed(), SETTINGS)
        removed += sum(isinstance(action, DeletePod) for action in actions)
        cluster.do(actions)
        cluster.step()
    assert removed == 1


def test_a_rollout_that_cannot_be_rolled_back_stops_when_the_new_pod_refuses_and_goes_back_with_the_spec() -> None:
    cluster = _running(replicas=2, standbys=1, revisionHistoryLimit=0)
    good = {pod.template for pod in cluster.pods.values()}
    cluster.breaks = lambda template: template not in good
    cluster.change(job(replicas=2, standbys=1, revisionHistoryLimit=0, image="example.com/bad:2"))
    _passes(cluster, 30)
    assert len(cluster.actives()) == 2
    assert sum(pod.template in good for pod in cluster.pods.values()) == 2
    progressing = _condition(cluster, "Progressing")
    assert (progressing["status"], progressing["reason"]) == ("False", "RolloutStalled")
    assert "revert the change" in progressing["message"]
    assert plan(cluster.observed(), SETTINGS) == ()

    cluster.change(job(replicas=2, standbys=1, revisionHistoryLimit=0))
    cluster.converge()
    assert {pod.template for pod in cluster.pods.values()} == good
    assert _condition(cluster, "Progressing")["reason"] == "Complete"


def test_a_new_job_whose_pods_never_came_up_is_mended_at_once() -> None:
    cluster = TinyCluster(job(image="example.com/bad:1"), breaks=lambda _: True)
    _passes(cluster, 10)
    assert cluster.status["phase"] == "Failed"
    cluster.breaks = lambda _: False
    cluster.change(job(image="example.com/good:1", sources=[{"name": "a", "topics": ["other"]}]))
    cluster.do(plan(cluster.observed(), SETTINGS))  # what it is about to do is in the status first
    actions = plan(cluster.observed(), SETTINGS)
    assert sum(isinstance(action, DeletePod) for action in actions) == 2
    cluster.converge()
    assert cluster.status["phase"] == "Running"


def test_only_the_counts_change_nothing_in_pods_that_need_not_know() -> None:
    cluster = _running(replicas=2, standbys=1)
    before = set(cluster.pods)
    cluster.change(job(replicas=2, standbys=2))
    cluster.converge()
    assert before < set(cluster.pods)


def test_another_configuration_replaces_no_pod_and_says_what_to_do() -> None:
    cluster = _running(replicas=2)
    before, running = set(cluster.pods), cluster.status["configHash"]["current"]
    cluster.change(job(replicas=2, job={"file": "job.py", "options": {"late": "5"}}))
    told = [action for action in plan(cluster.observed(), SETTINGS) if isinstance(action, Emit)]
    assert [emit.reason for emit in told] == ["ConfigurationChanged"]
    cluster.converge()
    assert set(cluster.pods) == before
    assert cluster.status["configHash"]["current"] == running != cluster.status["configHash"]["target"]
    progressing = _condition(cluster, "Progressing")
    assert (progressing["status"], progressing["reason"]) == ("False", "ConfigurationChanged")
    assert "add spec.snapshots" in progressing["message"]


def test_a_pod_that_dies_meanwhile_is_replaced_by_one_with_the_configuration_that_runs() -> None:
    cluster = _running(replicas=2)
    seen = next(iter(cluster.pods.values()))
    cluster.change(job(replicas=2, job={"file": "job.py", "options": {"late": "5"}}))
    cluster.kill_node(seen)
    created = [action for action in plan(cluster.observed(), SETTINGS) if isinstance(action, CreatePod)]
    assert len(created) == 1
    annotations = created[0].pod["metadata"]["annotations"]
    assert (annotations[CONFIG], annotations[MANIFEST]) == (seen.config, seen.manifest)
    sources = created[0].pod["spec"]["volumes"][0]["projected"]["sources"]
    assert sources[0]["configMap"]["name"] == seen.manifest

    cluster.converge()
    before = set(cluster.pods)
    cluster.change(job(replicas=2))
    cluster.converge()
    assert set(cluster.pods) == before


def test_a_suspended_job_whose_configuration_changed_comes_back_as_it_worked_last() -> None:
    cluster = _running(replicas=2)
    was = {pod.manifest for pod in cluster.pods.values()}
    changed = {"job": {"file": "job.py", "options": {"late": "5"}}}
    cluster.change(job(replicas=2, **changed, suspend=True))
    cluster.converge()
    assert not cluster.pods
    cluster.change(job(replicas=2, **changed))
    cluster.converge()
    assert {pod.manifest for pod in cluster.pods.values()} == was
    assert _condition(cluster, "Progressing")["reason"] == "ConfigurationChanged"


def test_without_a_pod_to_take_the_configuration_from_none_is_made_until_the_change_is_taken_back() -> None:
    rest = {"replicas": 2, "ordering": {"mode": "heartbeat", "generators": 2}, "revisionHistoryLimit": 0}
    cluster = _running(**rest)
    changed = {"job": {"file": "job.py", "options": {"late": "5"}}, **rest}
    cluster.change(job(**changed, suspend=True))
    cluster.converge()
    assert not cluster.pods
    cluster.change(job(**changed))
    cluster.converge()
    assert not cluster.pods
    assert _condition(cluster, "Progressing")["reason"] == "ConfigurationChanged"

    cluster.change(job(**rest))
    cluster.converge()
    assert len(cluster.pods) == 4
    assert _condition(cluster, "Progressing")["reason"] == "Complete"


def test_a_rollout_replaces_a_replica_whose_orderer_fails() -> None:
    cluster = _running(replicas=2)
    before = set(cluster.pods)
    _first(cluster).beside = (BROKEN_ORDERER,)
    cluster.change(job(replicas=2, restartNonce=1))
    cluster.converge()
    assert not before & set(cluster.pods)
    assert _condition(cluster, "Progressing")["reason"] == "Complete"


def test_a_rollout_stops_where_the_orderer_beside_a_new_replica_fails() -> None:
    cluster = _running(replicas=2, standbys=1, revisionHistoryLimit=0)
    good = {pod.template for pod in cluster.pods.values()}
    cluster.breaks_beside = lambda template: template not in good
    cluster.change(job(replicas=2, standbys=1, revisionHistoryLimit=0, image="example.com/bad:2"))
    _passes(cluster, 20)
    assert sum(pod.template in good for pod in cluster.pods.values()) == 2
    progressing = _condition(cluster, "Progressing")
    assert (progressing["status"], progressing["reason"]) == ("False", "RolloutStalled")
    assert "orderer beside replica-2 refuses to run: no quorum" in progressing["message"]


def test_a_rollout_waits_for_the_orderer_beside_a_new_replica_and_says_so_after_a_while() -> None:
    cluster = _running(replicas=2)
    _first(cluster).beside = (ContainerSeen("orderer", started_ms=cluster.now_ms),)
    new = _first(cluster).template
    for pod in cluster.pods.values():
        pod.template = new if pod is _first(cluster) else "old"
    assert not [action for action in plan(cluster.observed(), SETTINGS) if isinstance(action, DeletePod)]
    cluster.now_ms += 1_000 * int(cluster.job.spec.progress_deadline_seconds + 1)
    cluster.do(plan(cluster.observed(), SETTINGS))
    progressing = _condition(cluster, "Progressing")
    assert progressing["reason"] == "RolloutStalled"
    assert "orderer beside replica-0 is not ready after" in progressing["message"]


def test_a_single_replica_is_replaced_although_nobody_takes_over() -> None:
    cluster = _running(replicas=1)
    before = set(cluster.pods)
    cluster.change(job(replicas=1, restartNonce=1))
    cluster.converge()
    assert not before & set(cluster.pods)


def test_an_outdated_replica_that_is_behind_stays_while_nobody_else_computes() -> None:
    cluster = _running(replicas=2)
    behind, other = sorted(cluster.pods.values(), key=lambda pod: pod.index)
    cluster.change(job(replicas=2, restartNonce=1))
    cluster.kill_node(other)
    behind.age = 2
    assert not [action for action in plan(cluster.observed(), SETTINGS) if isinstance(action, DeletePod)]


def test_nobody_leaves_for_a_pod_that_the_api_server_refuses() -> None:
    cluster = _running(replicas=2, standbys=1)
    before = sorted(cluster.pods)
    cluster.change(job(replicas=2, standbys=1, podTemplate={"spec": {"priorityClassName": "misspelt"}}))
    for _ in range(30):
        actions = plan(cluster.observed(), SETTINGS)
        tried = [action for action in actions if isinstance(action, TryPod)]
        assert [one.pod["spec"]["priorityClassName"] for one in tried] == ["misspelt"]
        cluster.do(tuple(action for action in actions if not waits(action, tried, suspended=False)))
        cluster.step()

    assert sorted(cluster.pods) == before


def test_a_pod_that_works_no_more_is_replaced_whatever_a_new_one_would_be() -> None:
    cluster = _running(replicas=2)
    gone = DeletePod("flights-replica-0-abcde", "uid", "its node is lost", grace_s=0)

    assert not waits(gone, [TryPod({})], suspended=False)
    assert not any(isinstance(action, TryPod) for action in plan(cluster.observed(), SETTINGS))
