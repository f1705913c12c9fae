"""A job that its code has stopped goes on when that is changed: a generation begins from what the old one left."""

from __future__ import annotations

from typing import Any

import pytest

from tandem_operator.actions import CreatePod, Emit
from tandem_operator.observed import Component
from tandem_operator.plan import plan
from tandem_operator.resources.names import COMPONENT
from tandem_operator.resources.tasks import TASK
from unit.operator.generation_jobs import CHANGED, SIZES, SNAPSHOTS, given, of
from unit.operator.operator_builders import SETTINGS, job
from unit.operator.tiny_cluster import TinyCluster
from unit.operator.tiny_told import progressing


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


def test_a_copy_in_another_namespace_does_not_take_over_the_log_of_a_running_job_by_itself() -> None:
    running = TinyCluster(job(replicas=2))
    running.converge()
    copy = TinyCluster(job(replicas=2, job=CHANGED), config=running.config)

    reasons, made = passes(copy, 60)

    assert copy.config == running.config
    assert not any("--accept-changes" in str(pod) for pod in made)
    assert "Refused" in reasons
    said = next(one for one in copy.status["conditions"] if one["type"] == "Ready")["message"]
    assert "set spec.restartNonce" in said


def test_a_job_that_was_made_again_goes_on_when_its_user_says_so() -> None:
    before = stopped()
    again = TinyCluster(job(replicas=2, job=CHANGED), config=before.config)
    passes(again, 10)
    again.change(job(replicas=2, job=CHANGED, restartNonce=1))

    passes(again, 60)

    assert again.config != before.config
    assert len(again.actives()) == 2
