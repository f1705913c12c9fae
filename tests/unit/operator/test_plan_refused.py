"""What is left undone when the API server refused something before it."""

from __future__ import annotations

from tandem_operator.actions import Action, Apply, CreatePod, DeletePod, Emit, LabelPod, SetStatus, Switch
from tandem_operator.plan import plan
from tandem_operator.plan.refused import Refusal, waits, words_of
from unit.operator.operator_builders import SETTINGS, job
from unit.operator.tiny_cluster import TinyCluster

LEAVES = DeletePod("flights-replica-0-aaaaa", "u", "it is made from an older version of the job")
ENDED = DeletePod("flights-replica-0-aaaaa", "u", "its node is lost", grace_s=0)
SWITCH = Switch("replica-0", "", drains=True)
LABEL = LabelPod("flights-replica-0-aaaaa", "u", {})


def first_plan() -> tuple[list[Apply], list[CreatePod]]:
    actions = plan(TinyCluster(job(replicas=2)).observed(), SETTINGS)
    applied = [action for action in actions if isinstance(action, Apply)]
    return applied, [action for action in actions if isinstance(action, CreatePod)]


def refused_of(kind: str) -> list[Action]:
    return [action for action in first_plan()[0] if action.object["kind"] == kind]


def test_no_pod_is_made_without_its_manifest_or_its_account_and_none_has_to_leave() -> None:
    pod = first_plan()[1][0]
    for kind in ("ConfigMap", "ServiceAccount"):
        refused = refused_of(kind)
        assert refused
        assert [waits(action, refused, suspended=False) for action in (pod, LEAVES, SWITCH)] == [True, True, True]


def test_no_driver_is_made_that_may_not_make_executors_and_the_message_says_who_grants_that() -> None:
    of = job(replicas=2, executors={"instances": 1})
    observed = TinyCluster(of).observed()
    actions = plan(observed, SETTINGS)
    pods = [action for action in actions if isinstance(action, CreatePod)]
    for kind in ("Role", "RoleBinding"):
        refused = [action for action in actions if isinstance(action, Apply) and action.object["kind"] == kind]
        assert [waits(action, refused, suspended=False) for action in (pods[0], LEAVES)] == [True, True]
        words = words_of(observed, SETTINGS, actions, Refusal(refused[0], "forbidden"))
        assert any("executors.enabled: true" in word.message for word in words if isinstance(word, Emit))


def test_what_needs_nothing_new_does_not_wait() -> None:
    refused = refused_of("ConfigMap")
    assert not waits(ENDED, refused, suspended=False)
    assert not waits(LABEL, refused, suspended=False)
    assert not waits(LEAVES, refused, suspended=True)


def test_a_pod_with_an_older_manifest_does_not_wait_for_a_new_one() -> None:
    cluster = TinyCluster(job(replicas=2, revisionHistoryLimit=0))
    cluster.converge()
    lost = next(iter(cluster.pods.values()))
    cluster.change(job(replicas=2, revisionHistoryLimit=0, job={"file": "job.py", "options": {"late": "5"}}))
    cluster.kill_node(lost)
    actions = plan(cluster.observed(), SETTINGS)
    (manifest,) = (action for action in actions if isinstance(action, Apply) and action.object["kind"] == "ConfigMap")
    (pod,) = (action for action in actions if isinstance(action, CreatePod))

    assert not waits(pod, [manifest], suspended=False)


def test_a_budget_or_a_pod_that_is_refused_holds_up_nothing() -> None:
    pods = first_plan()[1]
    for refused in (refused_of("PodDisruptionBudget"), [pods[0]]):
        assert not any(waits(action, refused, suspended=False) for action in (pods[1], LEAVES, SWITCH))


def test_what_else_happened_is_told_all_the_same() -> None:
    cluster = TinyCluster(job(replicas=2))
    cluster.converge()
    cluster.kill_node(next(iter(cluster.pods.values())))
    observed = cluster.observed()
    actions = plan(observed, SETTINGS)
    refused = next(action for action in actions if isinstance(action, CreatePod))
    words = words_of(observed, SETTINGS, actions, Refusal(refused, "exceeded quota."))

    assert [word.reason for word in words if isinstance(word, Emit)] == ["NotReplicated", "ApiRefused"]
    (status,) = (word.status for word in words if isinstance(word, SetStatus))
    cluster.status = dict(status)
    later = cluster.observed()
    assert words_of(later, SETTINGS, plan(later, SETTINGS), Refusal(refused, "exceeded quota.")) == ()


def test_figures_alone_are_not_written_because_something_is_refused_again() -> None:
    cluster = TinyCluster(job(replicas=2))
    cluster.converge()
    for seconds, is_written in ((0, True), (40, True), (5, False), (5, False)):
        cluster.now_ms += seconds * 1000
        observed = cluster.observed()
        words = words_of(observed, SETTINGS, plan(observed, SETTINGS), Refusal(LABEL, "no"))
        cluster.do(tuple(word for word in words if isinstance(word, SetStatus)))
        assert bool(words) is is_written
