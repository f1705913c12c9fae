"""A change of what the job computes begins a generation beside the members; if that fails, nothing has changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tandem_operator.actions import CreatePod, DeletePod
from tandem_operator.observed import Component, PodPhase
from tandem_operator.plan import plan
from tandem_operator.resources.candidates import candidate
from tandem_operator.resources.names import CLEANUP, COMPONENT, GENERATION, selector
from tandem_operator.resources.tasks import TASK
from unit.operator.generation_jobs import CHANGED, EDITED, EDITS, SIZES, given, of, running
from unit.operator.operator_builders import SETTINGS, UID, job
from unit.operator.tiny_cluster import TinyCluster
from unit.operator.tiny_told import progressing, told


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_next_generation_takes_over_and_somebody_publishes_all_the_time(size: dict[str, Any]) -> None:
    cluster = running(**size)
    before, old = set(cluster.pods), cluster.config
    cluster.change(given(**size, job=CHANGED))
    reasons = told(cluster, 60)
    cluster.converge()
    assert cluster.config != old
    assert not before & set(cluster.pods)
    assert not of(cluster, Component.CANDIDATE)
    assert {pod.config for pod in cluster.pods.values()} == {cluster.config}
    assert progressing(cluster)[:2] == ("True", "Complete")
    order = [reasons.index(reason) for reason in ("SavingState", "CatchingUp", "GenerationBegan", "Complete")]
    assert order == sorted(order)
    assert cluster.status["configHash"]["current"] == cluster.status["configHash"]["target"]
    assert "upgrade" not in cluster.status


def test_no_member_is_touched_before_the_generation_has_begun() -> None:
    cluster = running()
    before, old = set(cluster.pods), cluster.config
    cluster.change(given(job=CHANGED))
    for _ in range(20):
        if cluster.config != old:
            break
        assert before <= set(cluster.pods)
        assert len(cluster.actives()) == 2
        told(cluster, 1)
    assert cluster.config != old


def test_one_that_fails_goes_and_the_generation_that_ran_goes_on() -> None:
    cluster = running()
    before = set(cluster.pods)
    good = {pod.template for pod in cluster.pods.values()}
    cluster.breaks = lambda template: template not in good
    cluster.change(given(job=CHANGED))
    reasons = told(cluster, 40)
    assert set(cluster.pods) == before
    status, reason, message = progressing(cluster)
    assert (status, reason) == ("False", "UpgradeFailed")
    assert "candidate-0 refuses to run: no such module" in message
    assert reasons[-1] == "UpgradeFailed"
    assert not cluster.tasks
    cluster.converge()

    cluster.breaks = lambda _: False
    cluster.change(given(job=CHANGED, restartNonce=1))
    told(cluster, 60)
    assert progressing(cluster)[1] == "Complete"


def test_a_savepoint_that_cannot_be_made_is_told_and_no_candidate_is_made() -> None:
    cluster = running()
    before = set(cluster.pods)
    cluster.outcome = PodPhase.FAILED
    cluster.change(given(job=CHANGED))
    reasons = told(cluster, 60)
    assert set(cluster.pods) == before
    assert progressing(cluster)[1] == "UpgradeFailed"
    assert "No savepoint could be created, tried 3 times" in progressing(cluster)[2]
    assert reasons[-1] == "UpgradeFailed"
    assert len([line for line in cluster.log if line.startswith("create flights-savepoint-")]) == 3
    assert not cluster.tasks


def test_a_savepoint_whose_task_fails_is_made_by_another_one_after_a_pause() -> None:
    cluster = running()
    cluster.outcome = PodPhase.FAILED
    cluster.change(given(job=CHANGED))
    told(cluster, 4)
    assert progressing(cluster)[:2] == ("True", "SavingState")
    assert "Try 1 of 3 failed" in progressing(cluster)[2]
    told(cluster, 2)
    assert len(cluster.tasks) == 1  # the pause is not over

    cluster.outcome = PodPhase.SUCCEEDED
    reasons = told(cluster, 60)

    assert "UpgradeFailed" not in reasons
    assert progressing(cluster)[:2] == ("True", "Complete")


def test_candidates_begin_with_the_savepoint_that_was_made_not_with_one_that_could_not_be() -> None:
    cluster = running()
    cluster.outcome = PodPhase.FAILED
    cluster.change(given(job=CHANGED))
    told(cluster, 4)
    name = cluster.status["upgrade"]["savepoint"]
    cluster.outcome = PodPhase.SUCCEEDED
    made: list[Any] = []
    for _ in range(20):
        actions = plan(cluster.observed(), SETTINGS)
        made += [
            one.pod for one in actions if isinstance(one, CreatePod) and "candidate" in one.pod["metadata"]["name"]
        ]
        if made:
            break
        cluster.do(actions)
        cluster.step()

    assert made[0]["spec"]["containers"][0]["args"][-2:] == ["--savepoint", f"{name}-2"]


def test_a_savepoint_that_the_spec_names_is_restored_and_none_is_made() -> None:
    cluster = running()
    cluster.change(given(job=CHANGED, restoreFrom="before-the-mistake"))
    made: list[Any] = []
    for _ in range(60):
        actions = plan(cluster.observed(), SETTINGS)
        made += [action.pod for action in actions if isinstance(action, CreatePod)]
        cluster.do(actions)
        cluster.step()
    kinds = [pod["metadata"]["labels"][COMPONENT] for pod in made]
    candidates = [pod for pod in made if pod["metadata"]["labels"][COMPONENT] == Component.CANDIDATE.value]
    assert TASK not in kinds
    assert len(candidates) == 2
    for pod in candidates:
        args = next(one for one in pod["spec"]["containers"] if one["name"] == "replica")["args"]
        assert args[-2:] == ["--savepoint", "before-the-mistake"]
    assert progressing(cluster)[:2] == ("True", "Complete")


def test_naming_a_savepoint_alone_changes_nothing() -> None:
    cluster = running()
    before = set(cluster.pods)
    cluster.change(given(restoreFrom="before-the-mistake"))
    told(cluster, 20)
    assert set(cluster.pods) == before
    assert progressing(cluster)[:2] == ("True", "Complete")


def test_no_savepoint_is_made_before_all_members_are_at_the_head() -> None:
    cluster = running()
    lost = of(cluster, Component.MEMBER)[0]
    lost.deleting = True
    cluster.change(given(job=CHANGED))
    for _ in range(30):
        actions = plan(cluster.observed(), SETTINGS)
        tasks = [a for a in actions if isinstance(a, CreatePod) and a.pod["metadata"]["labels"][COMPONENT] == TASK]
        if tasks:
            break
        cluster.do(actions)
        cluster.step()
    assert tasks
    assert len(cluster.actives()) == 2
    assert lost.name not in cluster.pods


def test_the_savepoint_is_made_once_although_the_status_is_not_written() -> None:
    cluster = running()
    cluster.change(given(job=CHANGED))
    told(cluster, 1)
    made = []
    for _ in range(4):
        actions = plan(cluster.observed(), SETTINGS)
        made += [a.pod["metadata"]["name"] for a in actions if isinstance(a, CreatePod)]
        assert all(a.pod["metadata"]["labels"][COMPONENT] == TASK for a in actions if isinstance(a, CreatePod))
        before = cluster.status
        cluster.do(actions)
        cluster.status = before
        cluster.step()
    assert len(made) == 1


def test_a_change_that_is_taken_back_in_time_has_changed_nothing() -> None:
    cluster = running()
    before = set(cluster.pods)
    cluster.change(given(job=CHANGED))
    told(cluster, 5)
    assert of(cluster, Component.CANDIDATE)
    cluster.change(given())
    told(cluster, 10)
    assert set(cluster.pods) == before
    assert progressing(cluster)[1] == "Complete"


def test_a_job_that_is_suspended_meanwhile_has_no_candidates_either() -> None:
    cluster = running()
    cluster.change(given(job=CHANGED))
    told(cluster, 5)
    assert of(cluster, Component.CANDIDATE)
    cluster.change(given(job=CHANGED, suspend=True))
    cluster.converge()
    assert not cluster.pods


def test_a_job_that_is_deleted_meanwhile_takes_its_candidates_with_it() -> None:
    cluster = running()
    cluster.change(given(job=CHANGED))
    told(cluster, 5)
    candidates = {pod.name for pod in of(cluster, Component.CANDIDATE)}
    assert candidates
    to_go = given(job=CHANGED, deletionPolicy="Delete")
    deleted = plan(replace(cluster.observed(), job=to_go, deleting=True, finalizers=(CLEANUP,)), SETTINGS)
    assert candidates <= {action.name for action in deleted if isinstance(action, DeletePod)}


def test_without_snapshots_the_change_is_held_back_and_the_status_says_what_it_needs() -> None:
    cluster = TinyCluster(job(replicas=2))
    cluster.converge()
    cluster.change(job(replicas=2, job=CHANGED))
    cluster.converge()
    assert progressing(cluster)[:2] == ("False", "ConfigurationChanged")
    assert "spec.snapshots" in progressing(cluster)[2]


def test_snapshots_that_come_with_the_change_are_to_be_rolled_out_first_and_then_the_rest() -> None:
    cluster = TinyCluster(job(replicas=2))
    cluster.converge()
    cluster.change(given(job=CHANGED))
    cluster.converge()
    assert progressing(cluster)[:2] == ("False", "ConfigurationChanged")
    assert "Apply spec.snapshots alone first" in progressing(cluster)[2]

    cluster.change(given())
    cluster.converge()
    cluster.change(given(job=CHANGED))
    told(cluster, 60)
    assert progressing(cluster)[:2] == ("True", "Complete")


def test_a_job_that_has_published_nothing_begins_its_next_generation_when_it_has() -> None:
    cluster = running()
    cluster.change(given(job=CHANGED))
    observed = cluster.observed()
    status = {key: value for key, value in observed.status.items() if key != "epoch"}
    pods = [
        replace(pod, reported=replace(pod.reported, published_epoch=-1)) if pod.reported else pod
        for pod in observed.pods
    ]
    actions = plan(replace(observed, pods=tuple(pods), status=status), SETTINGS)
    cluster.do(actions)
    assert not any(isinstance(action, CreatePod) for action in actions)
    assert progressing(cluster)[:2] == ("False", "ConfigurationChanged")
    assert "has published nothing yet" in progressing(cluster)[2]

    told(cluster, 60)
    assert progressing(cluster)[:2] == ("True", "Complete")


def test_a_candidate_may_share_a_node_with_a_member_but_not_with_another_candidate() -> None:
    pod = candidate(given(job=CHANGED), UID, SETTINGS, 1, "flights-candidate-1-aaaaa", "upgrade-2")
    apart = pod["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    labels = pod["metadata"]["labels"]
    assert [term["labelSelector"]["matchLabels"] for term in apart] == [selector("flights", "candidate")]
    assert not selector("flights", "member").items() <= labels.items()
    assert labels[GENERATION]


def test_a_candidate_begins_with_the_savepoint_under_a_name_of_its_own() -> None:
    pod = candidate(given(job=CHANGED), UID, SETTINGS, 1, "flights-candidate-1-aaaaa", "upgrade-2")
    replica, orderer = pod["spec"]["containers"]
    assert replica["args"][-2:] == ["--savepoint", "upgrade-2"]
    assert replica["args"][replica["args"].index("--name") + 1] == "candidate-1"
    assert orderer["args"][orderer["args"].index("--replica") + 1] == "candidate-1"
    assert "--savepoint" not in orderer["args"]


@pytest.mark.parametrize("lead", range(1, 14))
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_at_any_moment_of_an_upgrade_leaves_somebody_who_publishes(edit: str, lead: int) -> None:
    cluster = running()
    cluster.change(given(job=EDITED))
    told(cluster, lead)
    cluster.change(given(**EDITS[edit]))
    for _ in range(100):
        told(cluster, 1)
        assert any(cluster.publishes(pod) and pod.config == cluster.config for pod in cluster.pods.values())
    assert not of(cluster, Component.CANDIDATE)
    assert len(cluster.actives()) == 2
