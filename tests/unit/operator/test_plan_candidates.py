"""Candidates whose nodes are lost, or reject or evict them."""

from __future__ import annotations

from tandem.process.ending import EndKind
from tandem_operator.actions import CreatePod, DeletePod
from tandem_operator.observed import Component, PodPhase
from tandem_operator.plan import plan
from tandem_operator.plan.times import written
from tandem_operator.resources.names import INDEX
from unit.operator.generation_jobs import CHANGED, given, of, running
from unit.operator.operator_builders import SETTINGS
from unit.operator.tiny_cluster import TinyCluster
from unit.operator.tiny_pods import Pod
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


def _with_candidates() -> TinyCluster:
    """Candidates have just been created."""
    cluster = running()
    cluster.change(given(job=CHANGED))
    while not of(cluster, Component.CANDIDATE):
        told(cluster, 1)
    return cluster


def _reject_candidates(cluster: TinyCluster) -> None:
    """Their nodes reject those that have just been created."""
    for pod in of(cluster, Component.CANDIDATE):
        pod.phase, pod.message = PodPhase.FAILED, "SysctlForbidden: forbidden sysctl"


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


def test_a_begun_candidate_whose_pod_kubernetes_gives_up_goes_before_the_members_work() -> None:
    cluster = _begun()
    lost = of(cluster, Component.CANDIDATE)[0]
    cluster.kill_node(lost)
    lost.deleting = True
    actions = plan(cluster.observed(), SETTINGS)
    assert DeletePod(lost.name, lost.uid, "its node is lost", grace_s=0) in actions


def test_candidates_on_lost_nodes_that_have_not_begun_go_at_once() -> None:
    cluster = _with_candidates()
    lost = of(cluster, Component.CANDIDATE)[0]
    cluster.kill_node(lost)
    actions = plan(cluster.observed(), SETTINGS)
    assert DeletePod(lost.name, lost.uid, "its node is lost", grace_s=0) in actions


def test_a_candidate_that_its_node_rejects_is_replaced_after_a_while_not_at_once() -> None:
    cluster = _with_candidates()
    _reject_candidates(cluster)
    created_ms = of(cluster, Component.CANDIDATE)[0].created_ms

    cluster.now_ms = created_ms + 1_000
    assert not [one for one in plan(cluster.observed(), SETTINGS) if isinstance(one, CreatePod)]

    cluster.now_ms = created_ms + 11_000
    created = [one.pod for one in plan(cluster.observed(), SETTINGS) if isinstance(one, CreatePod)]
    assert [pod["metadata"]["labels"][INDEX] for pod in created] == ["0", "1"]


def test_an_upgrade_whose_candidates_are_rejected_again_and_again_fails_at_its_deadline() -> None:
    cluster = _with_candidates()
    before = {pod.name for pod in of(cluster, Component.MEMBER)}
    began_ms, created = cluster.now_ms, set()
    while progressing(cluster)[1] != "UpgradeFailed":
        _reject_candidates(cluster)
        created |= {pod.name for pod in of(cluster, Component.CANDIDATE)}
        told(cluster, 1)
        assert cluster.now_ms - began_ms < 700_000
    deadline_ms = cluster.job.spec.progress_deadline_seconds * 1000
    assert deadline_ms <= cluster.now_ms - began_ms <= deadline_ms + 30_000
    assert len(created) <= 2 * (deadline_ms / 10_000 + 1), "of each of the two, one in ten seconds"
    assert (
        "candidate-1 has not caught up after 600 s, and its last pod ended: SysctlForbidden" in progressing(cluster)[2]
    )

    cluster.converge()
    assert set(cluster.pods) == before


def _evict(pod: Pod) -> None:
    pod.phase, pod.message = PodPhase.FAILED, "Preempting: a pod of more importance"


def _late(minutes: int) -> TinyCluster:
    """Its candidates were created that long ago; an operator was there all the time, and none has reached the head."""
    cluster = _with_candidates()
    for pod in of(cluster, Component.CANDIDATE):
        cluster.stuck.add(pod.template)
    until_ms = cluster.now_ms + minutes * 60_000
    while cluster.now_ms < until_ms:
        told(cluster, 1)
        for pod in of(cluster, Component.CANDIDATE):
            pod.started_ms = cluster.now_ms  # the time of one counts from its last start
    return cluster


def test_a_candidate_that_is_evicted_late_is_replaced_while_another_one_has_time_left() -> None:
    cluster = _late(minutes=11)
    _evict(of(cluster, Component.CANDIDATE)[1])
    told(cluster, 3)
    assert progressing(cluster)[1] == "CatchingUp"
    assert len(of(cluster, Component.CANDIDATE)) == 2

    cluster.stuck.clear()
    told(cluster, 60)
    assert progressing(cluster)[:2] == ("True", "Complete")


def test_candidates_that_are_evicted_in_turns_after_the_deadline_do_not_prolong_the_upgrade_for_ever() -> None:
    cluster = _late(minutes=11)
    for _ in range(3):
        oldest = min(of(cluster, Component.CANDIDATE), key=lambda pod: (pod.created_ms, pod.index))
        _evict(oldest)
        told(cluster, 1)
    assert progressing(cluster)[1] == "UpgradeFailed"


def test_an_upgrade_has_all_its_time_again_after_its_job_was_suspended() -> None:
    cluster = _with_candidates()
    cluster.change(given(job=CHANGED, suspend=True))
    cluster.converge()
    cluster.now_ms += 86_400_000
    cluster.status["measuredAt"] = written(cluster.now_ms)
    cluster.change(given(job=CHANGED))
    for _ in range(10):
        cluster.do(plan(cluster.observed(), SETTINGS))
        _reject_candidates(cluster)
        cluster.step()
    assert len(cluster.actives()) == 2
    assert progressing(cluster)[1] != "UpgradeFailed"
    assert "failed" not in cluster.status["revision"]


def test_an_upgrade_has_all_its_time_again_after_the_operator_was_away() -> None:
    cluster = _with_candidates()
    _reject_candidates(cluster)
    cluster.now_ms += 86_400_000
    told(cluster, 60)
    assert progressing(cluster)[:2] == ("True", "Complete")


def test_no_upgrade_fails_for_its_time_after_its_boundary() -> None:
    cluster = _late(minutes=11)
    for pod in of(cluster, Component.CANDIDATE):
        _evict(pod)
    for pod in of(cluster, Component.MEMBER):
        pod.broken, pod.exit_code, pod.end = True, 78, EndKind.OTHER_JOB
    cluster.do(plan(cluster.observed(), SETTINGS))
    assert "failed" not in cluster.status["revision"]
    assert of(cluster, Component.CANDIDATE), "they are replaced"


def test_candidates_that_are_replaced_once_after_the_deadline_of_the_first_ones_go_on() -> None:
    cluster = _with_candidates()
    told(cluster, 1)
    for pod in of(cluster, Component.CANDIDATE):
        cluster.kill_node(pod)
    cluster.now_ms += 700_000
    told(cluster, 60)
    assert progressing(cluster)[:2] == ("True", "Complete")
