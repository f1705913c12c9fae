"""Heartbeat generators come, go and are replaced."""

from __future__ import annotations

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.actions import CreatePod, DeletePod
from tandem_operator.observed import Component
from tandem_operator.plan import plan
from tandem_operator.resources.pods import template
from unit.operator.operator_builders import SETTINGS, job
from unit.operator.tiny_cluster import TinyCluster
from unit.operator.tiny_told import progressing


def _beating(generators: int, **spec: object) -> TinyCluster:
    cluster = TinyCluster(_job(generators, **spec))
    cluster.converge()
    return cluster


def _job(generators: int, **spec: object) -> ReplicatedStreamJob:
    return job(ordering={"mode": "heartbeat", "generators": generators}, **spec)


def _generators(cluster: TinyCluster) -> list[int]:
    return sorted(pod.index for pod in cluster.pods.values() if pod.component is Component.GENERATOR)


def test_their_number_follows_the_spec() -> None:
    cluster = _beating(2)
    for count in (3, 1):
        cluster.change(_job(count))
        cluster.converge()
        assert _generators(cluster) == list(range(count))


def test_one_on_a_lost_node_is_replaced() -> None:
    cluster = _beating(2)
    lost = next(pod for pod in cluster.pods.values() if pod.component is Component.GENERATOR)
    cluster.kill_node(lost)
    cluster.converge()
    assert _generators(cluster) == [0, 1]
    assert lost.name not in cluster.pods


def test_a_second_one_of_a_name_goes_and_the_missing_one_comes() -> None:
    cluster = _beating(2)
    one = next(pod for pod in cluster.pods.values() if pod.component is Component.GENERATOR and pod.index == 1)
    one.index = 0
    cluster.converge()
    assert _generators(cluster) == [0, 1]


def test_a_changed_template_replaces_one_after_the_other_once_the_members_run_with_it() -> None:
    cluster = _beating(3)
    old = {pod.template for pod in cluster.pods.values()}
    generators = {pod.name for pod in cluster.pods.values() if pod.component is Component.GENERATOR}
    cluster.change(_job(3, restartNonce=1))
    gone = 0
    for _ in range(60):
        observed = cluster.observed()
        deleted = {a.name for a in plan(observed, SETTINGS) if isinstance(a, DeletePod)} & generators
        assert len(deleted) <= 1
        assert not deleted or not [pod for pod in cluster.actives() if pod.template in old]
        gone += len(deleted)
        cluster.do(plan(observed, SETTINGS))
        cluster.step()
    assert gone == 3
    assert cluster.status["phase"] == "Running"


def _somebody_orders(cluster: TinyCluster, leader_template: str) -> bool:
    """Whether a generator beats, or an orderer runs beside a member that works."""
    return any(
        cluster.is_ready(pod) and (pod.component is Component.GENERATOR or pod.template == leader_template)
        for pod in cluster.pods.values()
    )


def test_generators_stay_until_all_members_have_an_orderer() -> None:
    leader = job(replicas=2)
    cluster = _beating(2, replicas=2)
    cluster.change(leader)
    template_of_leaders = template(leader, SETTINGS, Component.MEMBER)
    for _ in range(60):
        actions = plan(cluster.observed(), SETTINGS)
        deleted = {action.name for action in actions if isinstance(action, DeletePod)}
        if any(cluster.pods[name].component is Component.GENERATOR for name in deleted & set(cluster.pods)):
            assert {pod.template for pod in cluster.actives()} == {template_of_leaders}
            assert len(cluster.actives()) == 2
        cluster.do(actions)
        cluster.step()
        assert _somebody_orders(cluster, template_of_leaders), cluster.story()
    assert _generators(cluster) == []
    assert cluster.status["phase"] == "Running"


def test_generators_that_are_lost_before_all_members_have_an_orderer_are_made_again() -> None:
    leader = job(replicas=2)
    cluster = _beating(2, replicas=2)
    cluster.change(leader)
    cluster.stuck.add(template(leader, SETTINGS, Component.MEMBER))  # the first new member does not catch up
    _passes(cluster, 6)
    lost = [pod for pod in cluster.pods.values() if pod.component is Component.GENERATOR]
    for pod in lost:
        cluster.kill_node(pod)
    _passes(cluster, 6)

    again = [pod for pod in cluster.pods.values() if pod.component is Component.GENERATOR and pod not in lost]
    assert [cluster.is_ready(pod) for pod in again] == [True, True], cluster.story()
    assert {pod.template for pod in again} == {template(_job(2, replicas=2), SETTINGS, Component.GENERATOR)}
    cluster.stuck.clear()
    cluster.converge()
    assert _generators(cluster) == []
    assert cluster.status["phase"] == "Running"


def _passes(cluster: TinyCluster, steps: int) -> None:
    for _ in range(steps):
        cluster.do(plan(cluster.observed(), SETTINGS))
        cluster.step()


def _without_generators(cluster: TinyCluster, steps: int) -> None:
    """Time goes by while no generator can be made, as with a quota that is used up."""
    for _ in range(steps):
        actions = plan(cluster.observed(), SETTINGS)
        cluster.do(tuple(one for one in actions if not (isinstance(one, CreatePod) and "-generator-" in _name(one))))
        cluster.step()


def _name(created: CreatePod) -> str:
    return str(created.pod["metadata"]["name"])


def test_no_member_loses_its_orderer_before_a_generator_beats() -> None:
    cluster = TinyCluster(job(replicas=2))
    cluster.converge()
    before = set(cluster.pods)
    cluster.change(_job(2, replicas=2))
    _without_generators(cluster, 20)
    assert set(cluster.pods) == before
    status, reason, message = progressing(cluster)
    assert (status, reason) == ("True", "RollingOut")
    assert "before a heartbeat generator beats" in message
    cluster.converge()
    assert not before & set(cluster.pods)
    assert _generators(cluster) == [0, 1]


def test_a_change_whose_generators_cannot_be_made_is_gone_back_from_after_the_deadline() -> None:
    cluster = TinyCluster(job(replicas=2, progressDeadlineSeconds=300))
    cluster.converge()
    before = set(cluster.pods)
    cluster.change(_job(2, replicas=2, progressDeadlineSeconds=300))
    _without_generators(cluster, 58)
    assert progressing(cluster)[1] == "RollingOut"
    _without_generators(cluster, 8)
    assert set(cluster.pods) == before
    status, reason, message = progressing(cluster)
    assert (status, reason) == ("False", "RolledBack")
    assert "2 of 2 generators are not there after 300 s" in message


def test_a_job_that_was_suspended_has_its_whole_deadline_for_its_generators() -> None:
    """Nobody orders while it is suspended: that is not since when it waits."""
    spec = {"replicas": 2, "progressDeadlineSeconds": 300}
    cluster = TinyCluster(job(**spec))
    cluster.converge()
    cluster.change(job(**spec, suspend=True))
    cluster.converge()
    cluster.now_ms += 900_000
    cluster.change(_job(2, **spec))
    _without_generators(cluster, 40)
    assert "failed" not in cluster.status["revision"]
