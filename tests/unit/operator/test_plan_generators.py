"""Heartbeat generators come, go and are replaced."""

from __future__ import annotations

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.actions import DeletePod
from tandem_operator.observed import Component
from tandem_operator.plan import plan
from unit.operator.operator_builders import SETTINGS, job
from unit.operator.tiny_cluster import TinyCluster


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
