"""What hinders a pod that has not started is told at once, in Kubernetes' own words, and is no failure yet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tandem_operator.actions import SetStatus
from tandem_operator.observed import ContainerSeen, Observed, PodPhase
from tandem_operator.plan import plan
from unit.operator.operator_builders import SETTINGS, job
from unit.operator.tiny_cluster import TinyCluster

CODE = {"file": "job.py", "configMap": "orders-code"}


def beginning(**spec: Any) -> Observed:
    """A new job whose pods are there, and none runs."""
    cluster = TinyCluster(job(**{"replicas": 2, **spec}))
    cluster.do(plan(cluster.observed(), SETTINGS))
    return cluster.observed()


def blocked(observed: Observed, **seen: Any) -> Observed:
    first, *others = observed.pods
    return replace(observed, pods=(replace(first, **seen), *others))


def said(observed: Observed) -> dict[str, tuple[str, str, str]]:
    """Condition → status, reason and message after a pass."""
    status = next((one.status for one in plan(observed, SETTINGS) if isinstance(one, SetStatus)), observed.status)
    conditions: Any = status["conditions"]
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in conditions}


@pytest.mark.parametrize(
    ("waits", "message", "told"),
    [
        ("ErrImagePull", "ErrImagePull: no such host", "ErrImagePull: no such host"),
        ("CreateContainerConfigError", 'secret "s3" not found', 'CreateContainerConfigError: secret "s3" not found'),
        ("CrashLoopBackOff", "no such module", "CrashLoopBackOff: no such module"),
        ("Unschedulable", "0/3 nodes are available.", "Unschedulable: 0/3 nodes are available"),
        ("InvalidImageName", "", "InvalidImageName"),
    ],
)
def test_what_a_container_waits_for_is_told_at_once(waits: str, message: str, told: str) -> None:
    observed = beginning()
    conditions = said(blocked(observed, waits=waits, message=message))

    text = f"Pod {observed.pods[0].name} waits: {told}"
    assert conditions["Progressing"] == ("True", "PodWaits", text)
    assert conditions["Ready"] == ("False", "Starting", f"No replica has caught up yet. {text}")
    assert conditions["Replicated"][2].endswith(text)


def test_what_a_container_beside_the_replica_waits_for_is_told_too() -> None:
    orderer = ContainerSeen("orderer", waits="ImagePullBackOff", message="ImagePullBackOff: no such image")

    assert "no such image" in said(blocked(beginning(), beside=(orderer,)))["Progressing"][2]


@pytest.mark.parametrize("waits", ["", "ContainerCreating", "PodInitializing"])
def test_a_pod_that_is_being_started_is_not_hindered(waits: str) -> None:
    assert said(blocked(beginning(), waits=waits))["Progressing"] == ("True", "Starting", "Replicas start")


@pytest.mark.parametrize(("seconds", "reason"), [(30, "Starting"), (31, "PodWaits")])
def test_a_pod_that_waits_for_its_volumes_says_after_a_while_what_they_come_from(seconds: int, reason: str) -> None:
    volumes = [{"name": "ca", "secret": {"secretName": "kafka-ca"}}, {"name": "x", "emptyDir": {}}]
    observed = beginning(job=CODE, podTemplate={"spec": {"volumes": volumes}})
    waiting = blocked(observed, waits="ContainerCreating", unmounted_ms=observed.now_ms - seconds * 1000)

    status, told, message = said(waiting)["Progressing"]

    assert (status, told) == ("True", reason)
    assert ("(ConfigMap orders-code, Secret kafka-ca)?" in message) is (reason == "PodWaits")


def test_that_it_waits_is_written_once_however_long_it_does() -> None:
    observed = beginning(job=CODE)
    waiting = blocked(observed, waits="ContainerCreating", unmounted_ms=observed.now_ms - 31_000)
    status = next(dict(one.status) for one in plan(waiting, SETTINGS) if isinstance(one, SetStatus))

    later = replace(waiting, status=status, now_ms=waiting.now_ms + 300_000)

    assert not [one for one in plan(later, SETTINGS) if isinstance(one, SetStatus)]


def test_when_its_time_is_over_it_has_failed_with_the_same_words() -> None:
    late = blocked(beginning(), waits="ErrImagePull", message="ErrImagePull: no such host")
    late = replace(late, now_ms=late.now_ms + 601_000)

    status, reason, message = said(late)["Progressing"]

    assert (status, reason) == ("False", "Failing")
    assert "no such host" in message


def test_in_a_rolling_change_it_is_told_what_the_new_pod_waits_for() -> None:
    cluster = TinyCluster(job(replicas=2))
    cluster.converge()
    cluster.change(job(replicas=2, image="example.com/other:2"))
    for _ in range(4):
        cluster.do(plan(cluster.observed(), SETTINGS))
        cluster.step()
    observed = cluster.observed()
    pods = [
        pod
        if pod.ready
        else replace(pod, phase=PodPhase.PENDING, reported=None, waits="ErrImagePull", message="no host")
        for pod in observed.pods
    ]
    assert any(pod.waits for pod in pods)

    status, reason, message = said(replace(observed, pods=tuple(pods)))["Progressing"]

    assert (status, reason) == ("True", "RollingOut")
    assert message.endswith("ErrImagePull: no host")
