"""Candidates whose nodes are lost."""

from __future__ import annotations

from tandem_operator.actions import DeletePod
from tandem_operator.observed import Component
from tandem_operator.plan import plan
from unit.operator.generation_jobs import CHANGED, given, of, running
from unit.operator.operator_builders import SETTINGS
from unit.operator.tiny_cluster import TinyCluster
from unit.operator.tiny_told import progressing, told


def _begun() -> TinyCluster:
    """A generation has begun, its candidate alone publishes, and the operator has seen that; the members start."""
    cluster = running(replicas=1, standbys=1)
    cluster.change(given(replicas=1, standbys=1, job=CHANGED))
    reasons: list[str] = []
    while "GenerationBegan" not in reasons:
        reasons += told(cluster, 1)
    assert not cluster.actives()
    return cluster


def test_begun_candidates_on_lost_nodes_stay_until_the_members_work() -> None:
    cluster = _begun()
    lost = of(cluster, Component.CANDIDATE)
    for pod in lost:
        cluster.kill_node(pod)

    passes = 0
    while not (cluster.actives() and cluster.standbys()):
        actions = plan(cluster.observed(), SETTINGS)
        assert not {pod.uid for pod in lost} & {action.uid for action in actions if isinstance(action, DeletePod)}
        cluster.do(actions)
        cluster.step()
        passes += 1
    assert passes > 1

    cluster.converge()
    assert not of(cluster, Component.CANDIDATE)
    assert progressing(cluster)[:2] == ("True", "Complete")


def test_a_begun_candidate_whose_node_comes_back_publishes_on() -> None:
    cluster = _begun()
    cut_off = of(cluster, Component.CANDIDATE)[0]
    cluster.kill_node(cut_off)
    cluster.do(plan(cluster.observed(), SETTINGS))
    cluster.step()
    cut_off.node_lost = False
    told(cluster, 30)  # somebody publishes in each
    assert progressing(cluster)[:2] == ("True", "Complete")


def test_candidates_on_lost_nodes_that_have_not_begun_go_at_once() -> None:
    cluster = running()
    cluster.change(given(job=CHANGED))
    while not of(cluster, Component.CANDIDATE):
        told(cluster, 1)
    lost = of(cluster, Component.CANDIDATE)[0]
    cluster.kill_node(lost)
    actions = plan(cluster.observed(), SETTINGS)
    assert DeletePod(lost.name, lost.uid, "its node is lost", grace_s=0) in actions
