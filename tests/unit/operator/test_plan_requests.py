"""Annotations are requests that are carried out once."""

from __future__ import annotations

from tandem_operator.actions import DeletePod, Switch
from tandem_operator.plan import plan
from unit.operator.operator_builders import SETTINGS, job
from unit.operator.tiny_cluster import TinyCluster


def _running(**spec: object) -> TinyCluster:
    cluster = TinyCluster(job(**spec))
    cluster.converge()
    return cluster


def _outcome(cluster: TinyCluster, name: str) -> str:
    return str(cluster.status["requests"][name]["outcome"])


def _acts(cluster: TinyCluster) -> list[object]:
    return [action for action in plan(cluster.observed(), SETTINGS) if isinstance(action, DeletePod | Switch)]


def test_a_request_is_written_down_before_it_is_carried_out() -> None:
    cluster = _running(replicas=2, standbys=1)
    cluster.annotations = {"tandem.dev/fence": "replica-0"}
    assert not _acts(cluster)
    cluster.do(plan(cluster.observed(), SETTINGS))
    assert _outcome(cluster, "fence") == "Pending"
    assert len(_acts(cluster)) == 1


def test_a_promoted_standby_becomes_active_and_nobody_is_switched_again() -> None:
    cluster = _running(replicas=2, standbys=1)
    standby = cluster.standbys()[0]
    cluster.annotations = {"tandem.dev/promote": f"replica-{standby.index}"}
    cluster.converge()
    assert _outcome(cluster, "promote") == "Done"
    assert cluster.is_active(standby)
    assert len(cluster.pods) == 3


def test_a_drained_replica_leaves_its_pod_and_the_one_after_it_stays() -> None:
    cluster = _running(replicas=2, standbys=1)
    before = set(cluster.pods)
    cluster.annotations = {"tandem.dev/drain": "replica-0"}
    cluster.converge()
    assert _outcome(cluster, "drain") == "Done"
    assert len(before - set(cluster.pods)) == 1


def test_a_fenced_replica_ends_at_once() -> None:
    cluster = _running(replicas=2)
    cluster.annotations = {"tandem.dev/fence": "replica-1"}
    cluster.do(plan(cluster.observed(), SETTINGS))
    acts = _acts(cluster)
    assert [(act.grace_s, act.name.rpartition("-")[0]) for act in acts if isinstance(act, DeletePod)] == [
        (0, "flights-replica-1")
    ]
    cluster.converge()
    assert _outcome(cluster, "fence") == "Done"


def test_requests_that_cannot_be_are_refused_with_a_reason() -> None:
    cluster = _running(replicas=1)
    cluster.annotations = {"tandem.dev/drain": "replica-0", "tandem.dev/promote": "replica-7"}
    before = set(cluster.pods)
    cluster.converge()
    requests = cluster.status["requests"]
    assert [requests[name]["outcome"] for name in ("drain", "promote")] == ["Refused", "Refused"]
    assert "only replica" in requests["drain"]["message"]
    assert "the replicas are: replica-0" in requests["promote"]["message"]
    assert set(cluster.pods) == before


def test_a_request_that_takes_too_long_is_given_up() -> None:
    cluster = _running(replicas=2, standbys=1)
    cluster.annotations = {"tandem.dev/promote": f"replica-{cluster.standbys()[0].index}"}
    cluster.do(plan(cluster.observed(), SETTINGS))
    cluster.now_ms += 130_000
    cluster.do(plan(cluster.observed(), SETTINGS))
    assert _outcome(cluster, "promote") == "Refused"


def test_a_request_is_forgotten_with_its_annotation_and_may_be_requested_again() -> None:
    cluster = _running(replicas=2)
    for _ in range(2):
        before = set(cluster.pods)
        cluster.annotations = {"tandem.dev/drain": "replica-0"}
        cluster.converge()
        assert len(before - set(cluster.pods)) == 1
        cluster.annotations = {}
        cluster.converge()
        assert not cluster.status["requests"]


def test_a_request_that_is_too_long_is_cut_and_carried_out_once() -> None:
    cluster = _running(replicas=2)
    before = set(cluster.pods)
    cluster.annotations = {"tandem.dev/fence": "replica-1@" + "x" * 2_000}
    cluster.converge()
    assert _outcome(cluster, "fence") == "Done"
    assert len(before - set(cluster.pods)) == 1


def test_the_same_can_be_requested_again_with_another_mark_behind_it() -> None:
    cluster = _running(replicas=2)
    for mark in ("1", "2"):
        before = set(cluster.pods)
        cluster.annotations = {"tandem.dev/fence": f"replica-1@{mark}"}
        cluster.converge()
        assert _outcome(cluster, "fence") == "Done"
        assert len(before - set(cluster.pods)) == 1


def test_what_was_requested_before_the_status_was_lost_is_not_done_again() -> None:
    cluster = _running(replicas=2)
    cluster.annotations = {"tandem.dev/fence": "replica-1"}
    cluster.converge()
    before, cluster.status = set(cluster.pods), {}
    cluster.annotations["tandem.dev/drain"] = "replica-0"
    cluster.converge()
    assert set(cluster.pods) == before
    assert [_outcome(cluster, name) for name in ("fence", "drain")] == ["Refused", "Refused"]
    assert "made before this status" in cluster.status["requests"]["fence"]["message"]

    cluster.annotations["tandem.dev/fence"] = "replica-1@2"
    cluster.converge()
    assert _outcome(cluster, "fence") == "Done"


def test_an_answer_that_names_very_many_replicas_is_cut() -> None:
    cluster = TinyCluster(job(replicas=99))
    for _ in range(2):
        cluster.do(plan(cluster.observed(), SETTINGS))
        cluster.step()
    cluster.annotations = {"tandem.dev/promote": f"{'x' * 100}"}
    cluster.do(plan(cluster.observed(), SETTINGS))
    assert _outcome(cluster, "promote") == "Refused"
    assert len(cluster.status["requests"]["promote"]["message"]) == 1024
