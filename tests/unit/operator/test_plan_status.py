"""What a job's status says, and when it is written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tandem.core.failovers import Failover
from tandem.manifest import ManifestError, parse
from tandem.process.ending import EndKind
from tandem_operator.actions import Action, CreatePod, Emit, SetStatus
from tandem_operator.observed import Observed
from tandem_operator.plan import plan
from tandem_operator.plan.invalid import last_working, refuse
from tandem_operator.resources.names import TEMPLATE
from tandem_operator.status import LONGEST_HISTORY
from unit.operator.operator_builders import SETTINGS, job
from unit.operator.tiny_cluster import BROKEN_ORDERER, TinyCluster


def _running(**spec: object) -> TinyCluster:
    cluster = TinyCluster(job(**spec))
    cluster.converge()
    return cluster


def _status(actions: tuple[Action, ...]) -> dict[str, Any] | None:
    return next((dict(action.status) for action in actions if isinstance(action, SetStatus)), None)


def _reasons(actions: tuple[Action, ...]) -> list[str]:
    return [action.reason for action in actions if isinstance(action, Emit)]


def _conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {condition["type"]: (condition["status"], condition["reason"]) for condition in status["conditions"]}


def _with_failover(observed: Observed, failover: Failover) -> Observed:
    pods = [
        pod if pod.reported is None else replace(pod, reported=replace(pod.reported, failover=failover))
        for pod in observed.pods
    ]
    return replace(observed, pods=tuple(pods))


def _with_engines(observed: Observed, *engines: str) -> Observed:
    """The pods in their order, each with an engine that it reports; "": it does not say any."""
    told = dict(zip((pod.name for pod in observed.pods if pod.reported), engines, strict=True))
    pods = [
        pod if pod.reported is None else replace(pod, reported=replace(pod.reported, engine=told[pod.name]))
        for pod in observed.pods
    ]
    return replace(observed, pods=tuple(pods))


def test_the_status_names_the_engine_and_why_it_was_chosen() -> None:
    cluster, words = _running(replicas=2), "microBatch: the job has a Python UDF (normalize)"
    assert "engine" not in cluster.status

    cluster.do(plan(_with_engines(cluster.observed(), words, words), SETTINGS))

    assert cluster.status["engine"] == words


@pytest.mark.parametrize(("engines", "said"), [(("microBatch", "realTime"), "microBatch"), (("", ""), "microBatch")])
def test_the_engine_that_ran_stays_in_the_status_while_a_replica_runs_it_or_none_says_any(
    engines: tuple[str, str], said: str
) -> None:
    cluster = _running(replicas=2)
    cluster.do(plan(_with_engines(cluster.observed(), "microBatch", "microBatch"), SETTINGS))

    cluster.do(plan(_with_engines(cluster.observed(), *engines), SETTINGS))
    assert cluster.status["engine"] == said
    cluster.do(plan(_with_engines(cluster.observed(), "realTime", "realTime"), SETTINGS))
    assert cluster.status["engine"] == "realTime"


def test_a_job_that_runs_says_so_in_each_of_its_conditions() -> None:
    status = _running(replicas=2, standbys=1).status
    assert _conditions(status) == {
        "Ready": ("True", "Active"),
        "Replicated": ("True", "AllActive"),
        "OrderingAvailable": ("True", "Elected"),
        "StandbyFresh": ("True", "Verified"),
        "Progressing": ("True", "Complete"),
        "Suspended": ("False", "NotAskedFor"),
        "Diverged": ("False", "Equal"),
        "TopicsAsDeclared": ("True", "AsDeclared"),
    }
    assert (status["phase"], status["active"], status["standby"], status["replicas"]) == ("Running", "2/2", "1/1", 2)
    assert status["selector"] == "tandem.dev/job=flights,app.kubernetes.io/component=member"
    assert [row["name"] for row in status["members"]] == ["replica-0", "replica-1", "replica-2"]


def test_a_job_that_never_ran_starts_and_one_that_did_is_degraded() -> None:
    cluster = TinyCluster(job(replicas=2))
    cluster.do(plan(cluster.observed(), SETTINGS))
    assert cluster.status["phase"] == "Pending"
    cluster.step()
    cluster.do(plan(cluster.observed(), SETTINGS))
    assert cluster.status["phase"] == "Starting"
    cluster.converge()
    cluster.kill_node(next(iter(cluster.pods.values())))
    actions = plan(cluster.observed(), SETTINGS)
    cluster.do(actions)
    assert cluster.status["phase"] == "Degraded"
    assert _conditions(cluster.status)["Replicated"] == ("False", "ReplicasMissing")
    assert "NotReplicated" in _reasons(actions)


def test_the_time_of_a_transition_stays_while_the_status_of_a_condition_does() -> None:
    cluster = _running(replicas=2)
    before = {condition["type"]: condition["lastTransitionTime"] for condition in cluster.status["conditions"]}
    cluster.kill_node(next(iter(cluster.pods.values())))
    cluster.do(plan(cluster.observed(), SETTINGS))
    after = {condition["type"]: condition["lastTransitionTime"] for condition in cluster.status["conditions"]}
    assert {name for name in after if after[name] != before[name]} == {"Replicated"}


def test_figures_alone_are_written_once_in_a_while_only() -> None:
    observed = _running(replicas=2).observed()
    pods = tuple(
        replace(pod, reported=replace(pod.reported, published_epoch=10**9)) for pod in observed.pods if pod.reported
    )
    later = replace(observed, pods=pods)
    assert plan(replace(later, now_ms=observed.now_ms + 1_000), SETTINGS) == ()
    status = _status(plan(replace(later, now_ms=observed.now_ms + 40_000), SETTINGS))
    assert status is not None
    assert status["epoch"] == 10**9


def test_the_first_figures_are_written_at_once() -> None:
    cluster = _running(replicas=2)
    observed = cluster.observed()
    nobody_has = {name: value for name, value in cluster.status.items() if name not in ("publisher", "epoch")}
    status = _status(plan(replace(observed, status=nobody_has, now_ms=observed.now_ms + 1_000), SETTINGS))
    assert status is not None
    assert status["publisher"] == cluster.status["publisher"]


def test_a_failover_is_told_once_however_many_replicas_report_it() -> None:
    cluster = _running(replicas=2)
    failover = Failover(17, "flights.replica-0.aa", "flights.replica-1.bb", 180, cluster.now_ms)
    actions = plan(_with_failover(cluster.observed(), failover), SETTINGS)
    assert _reasons(actions) == ["Failover"]
    cluster.do(actions)
    last = cluster.status["lastFailover"]
    assert (last["from"], last["to"], last["epoch"], last["gapMs"]) == ("replica-0", "replica-1", 17, 180)
    seen_later = replace(failover, at_ms=failover.at_ms + 1)
    assert plan(_with_failover(cluster.observed(), seen_later), SETTINGS) == ()


def test_the_history_is_bounded() -> None:
    cluster = _running(replicas=2)
    for epoch in range(20):
        failover = Failover(epoch, "flights.replica-0.aa", "flights.replica-1.bb", 180, cluster.now_ms)
        cluster.do(plan(_with_failover(cluster.observed(), failover), SETTINGS))
    assert len(cluster.status["history"]) == LONGEST_HISTORY
    assert cluster.status["history"][-1]["epoch"] == 19


def test_a_promotion_is_told() -> None:
    cluster = _running(replicas=2, standbys=1)
    cluster.kill_node(cluster.actives()[0])
    cluster.step()
    assert "Promoted" in _reasons(plan(cluster.observed(), SETTINGS))


def test_a_replica_that_diverged_is_told() -> None:
    cluster = _running(replicas=2)
    pod = next(iter(cluster.pods.values()))
    pod.diverged, pod.broken = True, True
    actions = plan(cluster.observed(), SETTINGS)
    status = _status(actions)
    assert status is not None
    assert _conditions(status)["Diverged"] == ("True", "OtherRows")
    assert "Diverged" in _reasons(actions)


def test_a_replica_that_diverged_and_ended_before_anybody_asked_it_is_told_until_it_is_back() -> None:
    cluster = _running(replicas=2)
    pod = next(iter(cluster.pods.values()))
    pod.exit_code, pod.end, pod.restarts, pod.age = 78, EndKind.DIVERGED, 1, 0
    actions = plan(cluster.observed(), SETTINGS)
    assert _conditions(_status(actions) or {})["Diverged"] == ("True", "OtherRows")
    assert "Diverged" in _reasons(actions)

    cluster.do(actions)
    cluster.converge()
    assert _conditions(cluster.status)["Diverged"] == ("False", "Equal")


def test_what_fails_beside_a_replica_that_works_is_told() -> None:
    cluster = _running(replicas=2)
    next(iter(cluster.pods.values())).beside = (BROKEN_ORDERER,)
    actions = plan(cluster.observed(), SETTINGS)
    status = _status(actions)
    assert status is not None
    assert _conditions(status)["Ready"] == ("True", "Active")
    assert _conditions(status)["Progressing"] == ("False", "Failing")
    messages = [condition["message"] for condition in status["conditions"]]
    assert "orderer beside replica-0 refuses to run: no quorum. Fix the job" in messages
    assert _reasons(actions) == ["Failing"]


def test_a_status_that_cannot_be_read_is_written_anew() -> None:
    observed = replace(_running(replicas=2).observed(), status={"conditions": "nonsense"})
    assert _status(plan(observed, SETTINGS)) is not None


def test_a_spec_that_cannot_be_used_is_told_and_pods_are_repaired_as_they_were() -> None:
    cluster = _running(replicas=2)
    templates = {pod.template for pod in cluster.pods.values()}
    observed = cluster.observed()
    body = {"metadata": {"name": "flights", "namespace": "streaming"}, "spec": {"replicas": 2, "sources": "nonsense"}}
    job = last_working(body, observed.objects)
    assert job is not None
    invalid = replace(observed, job=job, invalid="spec.sources: fix it")
    actions = plan(invalid, SETTINGS)
    assert {type(action).__name__ for action in actions} == {"Emit", "SetStatus"}
    status = _status(actions)
    assert status is not None
    assert _conditions(status)["Progressing"] == ("False", "InvalidSpec")
    assert plan(replace(invalid, status=status), SETTINGS) == ()

    one_left = replace(invalid, pods=invalid.pods[1:])
    made = [action for action in plan(one_left, SETTINGS) if isinstance(action, CreatePod)]
    assert {action.pod["metadata"]["annotations"][TEMPLATE] for action in made} <= templates
    assert len(made) == 1


def test_a_spec_that_cannot_be_used_is_told_once_and_touches_nothing() -> None:
    cluster = _running(replicas=2)
    with pytest.raises(ManifestError) as caught:
        parse({"apiVersion": "tandem.dev/v1alpha1", "kind": "ReplicatedStreamJob", "metadata": {"name": "x"}})
    body = {"metadata": {"generation": 9}, "status": cluster.status}
    actions = refuse(body, caught.value, cluster.now_ms)
    assert [type(action).__name__ for action in actions] == ["Emit", "SetStatus"]
    status = _status(actions)
    assert status is not None
    assert _conditions(status)["Progressing"] == ("False", "InvalidSpec")
    said = _conditions(status)
    assert {said[kind] for kind in ("Ready", "Replicated", "OrderingAvailable", "Diverged")} == {
        ("Unknown", "InvalidSpec")
    }
    assert said["Suspended"] == ("False", "NotAskedFor")
    assert refuse({**body, "status": status}, caught.value, cluster.now_ms + 5_000) == ()


def test_a_job_is_suspended_when_its_pods_have_ended_and_says_which_still_end() -> None:
    cluster = _running(replicas=2)
    cluster.change(job(replicas=2, suspend=True))
    before = cluster.status["phase"]
    cluster.do(plan(cluster.observed(), SETTINGS))
    assert (cluster.status["phase"], before) == ("Running", "Running")
    assert _conditions(cluster.status)["Progressing"] == ("True", "Suspending")
    said = next(one["message"] for one in cluster.status["conditions"] if one["type"] == "Progressing")
    assert all(name in said for name in cluster.pods)
    cluster.converge()
    assert cluster.status["phase"] == "Suspended"
    assert _conditions(cluster.status)["Progressing"] == ("True", "Suspended")
