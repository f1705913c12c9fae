"""A change of what the job computes begins a generation beside the members; if that fails, nothing has changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.actions import CreatePod, DeletePod, Emit
from tandem_operator.observed import Component, PodPhase
from tandem_operator.plan import plan
from tandem_operator.resources.candidates import candidate
from tandem_operator.resources.names import CLEANUP, COMPONENT, GENERATION, selector
from tandem_operator.resources.tasks import TASK
from unit.operator.operator_builders import SETTINGS, UID, job
from unit.operator.tiny_cluster import TinyCluster, progressing, told
from unit.operator.tiny_pods import Pod

SNAPSHOTS = {"store": "s3://b/x"}
CHANGED = {"file": "job.py", "options": {"late": "5"}}
SIZES = [{"replicas": 2}, {"replicas": 1}, {"replicas": 2, "standbys": 1}, {"replicas": 1, "standbys": 1}]


def given(**spec: Any) -> ReplicatedStreamJob:
    return job(**{"replicas": 2, "snapshots": SNAPSHOTS, **spec})


def running(**spec: Any) -> TinyCluster:
    cluster = TinyCluster(given(**spec))
    cluster.converge()
    return cluster


def of(cluster: TinyCluster, component: Component) -> list[Pod]:
    return [pod for pod in cluster.pods.values() if pod.component is component]


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
    assert "No savepoint could be made, tried 3 times" in progressing(cluster)[2]
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


def stopped(**spec: Any) -> TinyCluster:
    """A job that has run, and whose code has raised since: every replica refuses to run."""
    cluster = TinyCluster(job(replicas=2, **spec))
    cluster.converge()
    for pod in cluster.pods.values():
        pod.broken, pod.restarts, pod.exit_code, pod.message = True, 1, 78, "the job raised while it ran"
    return cluster


def passes(cluster: TinyCluster, count: int) -> tuple[list[str], list[Any]]:
    """The reasons of all events of so many passes, and the pods that are made; the job may stand still meanwhile."""
    reasons, made = [], []
    for _ in range(count):
        actions = plan(cluster.observed(), SETTINGS)
        reasons += [action.reason for action in actions if isinstance(action, Emit)]
        made += [action.pod for action in actions if isinstance(action, CreatePod)]
        cluster.do(actions)
        cluster.step()
    return reasons, made


def arguments(pods: list[Any]) -> list[list[str]]:
    """Of the replicas in the candidates."""
    candidates = [pod for pod in pods if pod["metadata"]["labels"][COMPONENT] == Component.CANDIDATE.value]
    return [next(c for c in pod["spec"]["containers"] if c["name"] == "replica")["args"] for pod in candidates]


def test_a_job_that_its_code_has_stopped_goes_on_with_changed_code_without_snapshots() -> None:
    cluster = stopped()
    old = cluster.config
    cluster.change(job(replicas=2, job=CHANGED))

    reasons, made = passes(cluster, 60)

    assert [args[-1] for args in arguments(made)] == ["--accept-changes"] * 2
    assert not any(pod["metadata"]["labels"][COMPONENT] == TASK for pod in made)
    assert cluster.config != old
    assert progressing(cluster)[:2] == ("True", "Complete")
    assert len(cluster.actives()) == 2
    assert not of(cluster, Component.CANDIDATE)
    assert "GenerationBegan" in reasons


def test_code_from_another_config_map_is_a_change_too_for_a_job_that_stands_still() -> None:
    cluster = stopped(job={"file": "job.py", "configMap": "code-1"})
    cluster.change(job(replicas=2, job={"file": "job.py", "configMap": "code-2"}))

    _, made = passes(cluster, 60)

    assert [args[-1] for args in arguments(made)] == ["--accept-changes"] * 2
    assert progressing(cluster)[:2] == ("True", "Complete")


def test_a_job_that_stands_still_goes_on_from_its_newest_snapshot() -> None:
    cluster = stopped(snapshots=SNAPSHOTS)
    cluster.change(given(job=CHANGED))

    _, made = passes(cluster, 60)

    assert [args[-2] for args in arguments(made)] == ["--savepoint"] * 2
    assert progressing(cluster)[:2] == ("True", "Complete")


def test_changed_code_that_fails_too_is_reported_and_the_next_change_is_tried() -> None:
    cluster = stopped()
    good = {pod.template for pod in cluster.pods.values()}
    cluster.breaks = lambda template: template not in good
    cluster.change(job(replicas=2, job=CHANGED))
    passes(cluster, 40)
    assert progressing(cluster)[:2] == ("False", "UpgradeFailed")
    assert "candidate-0 refuses to run: no such module" in progressing(cluster)[2]
    assert not of(cluster, Component.CANDIDATE)

    cluster.breaks = lambda _: False
    cluster.change(job(replicas=2, job={**CHANGED, "options": {"late": "6"}}))
    passes(cluster, 60)
    assert progressing(cluster)[:2] == ("True", "Complete")


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("seen_ready", [False, True], ids=["never ready", "ready for a moment"])
def test_a_job_that_its_first_record_has_stopped_goes_on_with_changed_code(
    size: dict[str, Any], seen_ready: bool
) -> None:
    """The log has the configuration of the code that failed, though no operator has seen that work."""
    cluster = TinyCluster(job(**size, job={"file": "job.py", "configMap": "code-1"}))
    cluster.breaks = lambda _: True
    passes(cluster, 6)
    first = next(iter(cluster.pods.values()))
    cluster.config = first.config
    if seen_ready:
        cluster.status["configHash"]["current"] = first.config

    cluster.breaks = lambda _: False
    cluster.change(job(**size, job={"file": "job.py", "configMap": "code-2"}))
    _, made = passes(cluster, 60)

    members = [next(c for c in pod["spec"]["containers"] if c["name"] == "replica")["args"] for pod in made]
    assert [args[-1] for args in members] == ["--accept-changes"] * len(members)
    assert progressing(cluster)[:2] == ("True", "Complete")
    assert cluster.config != first.config
    assert "upgrade" not in cluster.status

    cluster.kill_node(cluster.actives()[0])
    _, made = passes(cluster, 20)
    assert made
    assert not any("--accept-changes" in c["args"] for pod in made for c in pod["spec"]["containers"])


@pytest.mark.parametrize("goes_back", [False, True], ids=["changed once more", "changed back"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_job_whose_next_generation_began_and_was_stopped_like_the_one_before_goes_on_with_the_next_change(
    size: dict[str, Any], goes_back: bool
) -> None:
    """Nothing that ran last is known to work, and what is known to work the log refuses."""
    cluster = TinyCluster(job(**size))
    cluster.converge()
    known = next(iter(cluster.pods.values())).template
    cluster.change(job(**size, job=CHANGED))
    for pod in cluster.pods.values():
        pod.broken, pod.restarts, pod.exit_code, pod.message = True, 1, 78, "the job raised while it ran"
    while not any(cluster.is_ready(pod) and pod.component is Component.CANDIDATE for pod in cluster.pods.values()):
        passes(cluster, 1)
    passes(cluster, 1)  # its generation has begun
    bad = {pod.template for pod in cluster.pods.values()} - {known}
    cluster.breaks = lambda template: template in bad
    for pod in cluster.pods.values():
        pod.broken, pod.exit_code, pod.message = True, 78, "the job raised while it ran"
    passes(cluster, 20)
    assert not cluster.actives()

    cluster.change(job(**size) if goes_back else job(**size, job={**CHANGED, "options": {"late": "6"}}))
    passes(cluster, 60)
    assert progressing(cluster)[:2] == ("True", "Complete")
    assert not of(cluster, Component.CANDIDATE)


def test_that_the_changed_code_begins_another_generation_is_known_before_a_pod_is_replaced() -> None:
    cluster = TinyCluster(job(replicas=2))
    cluster.breaks = lambda _: True
    passes(cluster, 6)
    before = set(cluster.pods)

    cluster.change(job(replicas=2, job=CHANGED))
    cluster.do(plan(cluster.observed(), SETTINGS))
    assert set(cluster.pods) == before
    assert not any(pod.deleting for pod in cluster.pods.values())
    assert cluster.status["upgrade"]["savepoint"] == ""


@pytest.mark.parametrize("before", [1, 2])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_change_that_comes_before_all_replicas_of_a_new_job_have_stopped_is_no_dead_end(
    size: dict[str, Any], before: int
) -> None:
    """It is rolled like any other, and the log, which has begun, refuses it."""
    cluster = TinyCluster(job(**size, job={"file": "job.py", "configMap": "code-1"}))
    passes(cluster, before)
    cluster.config = next(iter(cluster.pods.values())).config

    cluster.change(job(**size, job={"file": "job.py", "configMap": "code-2"}))
    passes(cluster, 60)

    assert progressing(cluster)[:2] == ("True", "Complete")


def test_a_job_that_waits_for_its_first_change_is_left_alone() -> None:
    cluster = TinyCluster(job(replicas=2))
    cluster.breaks = lambda _: True
    _, made = passes(cluster, 20)

    assert len(made) == 2
    assert not any("--accept-changes" in c["args"] for pod in made for c in pod["spec"]["containers"])
    assert "upgrade" not in cluster.status


def test_one_replica_that_still_works_is_not_passed_over() -> None:
    cluster = stopped()
    works = of(cluster, Component.MEMBER)[0]
    works.broken, works.restarts, works.exit_code = False, 0, None
    cluster.change(job(replicas=2, job=CHANGED))

    _, made = passes(cluster, 20)

    assert not arguments(made)
    assert progressing(cluster)[:2] == ("False", "ConfigurationChanged")
