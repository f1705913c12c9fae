"""What the containers that Tandem adds ask for, and whom pods run as: under quotas, and where the platform decides."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tandem.manifest import ReplicatedStreamJob
from tandem_operator.observed import Component
from tandem_operator.resources import Settings, tasks
from tandem_operator.resources.pods import pod
from unit.operator.operator_builders import SETTINGS, UID, job

LIMITS = {"cpu": "1", "memory": "2Gi", "ephemeral-storage": "2Gi"}


def pods(settings: Settings = SETTINGS, **spec: Any) -> dict[str, dict[str, Any]]:
    """Every kind of pod that is made for a job."""
    it = job(snapshots={"store": "s3://bucket/path"}, **spec)
    return {
        "member": pod(it, UID, settings, Component.MEMBER, 0, "m"),
        "generator": pod(it, UID, settings, Component.GENERATOR, 0, "g"),
        "savepoint": tasks.savepoint(it, UID, settings, "s", "w"),
        "cleanup": tasks.cleanup(it, UID, settings, 1),
        "drain": tasks.drain(it, UID, settings, "replica-0", to_nobody=False),
    }


def executor(of: ReplicatedStreamJob, settings: Settings = SETTINGS) -> tuple[dict[str, str], dict[str, Any]]:
    """Spark's settings, and what it makes executors' pods from."""
    made = pod(of, UID, settings, Component.MEMBER, 0, "m")
    env = {one["name"]: one.get("value", "") for one in made["spec"]["containers"][0]["env"]}
    return json.loads(env["TANDEM_SPARK_CONF"]), json.loads(env["TANDEM_EXECUTOR_POD"])


@pytest.mark.parametrize("kind", ["limits", "requests"])
def test_what_the_user_limits_or_asks_for_every_container_of_ours_does(kind: str) -> None:
    wanted = LIMITS if kind == "limits" else {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}
    for name, made in pods(resources={kind: wanted}).items():
        for container in made["spec"]["containers"]:
            assert wanted.keys() <= container["resources"][kind].keys(), f"{container['name']} of {name}"


def test_where_the_user_limits_nothing_a_small_container_is_not_slowed_down() -> None:
    orderer = pods()["member"]["spec"]["containers"][1]

    assert orderer["resources"] == {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}


def test_the_pod_template_sets_them_otherwise() -> None:
    own = [{"name": name, "resources": {"limits": {"cpu": "2"}}} for name in ("orderer", "generator", "task")]
    made = pods(resources={"limits": LIMITS}, podTemplate={"spec": {"containers": own}})

    found = {name: one["spec"]["containers"][-1]["resources"]["limits"]["cpu"] for name, one in made.items()}
    assert set(found.values()) == {"2"}


def test_executors_are_limited_to_their_cores_where_replicas_are_limited() -> None:
    name = "spark.kubernetes.executor.limit.cores"
    executors = {"instances": 2, "cores": 4}
    assert executor(job(executors=executors, resources={"limits": LIMITS}))[0][name] == "4"
    assert name not in executor(job(executors=executors))[0]
    own = {"spec": {"containers": [{"name": "executor", "resources": {"limits": {"cpu": "6"}}}]}}
    assert name not in executor(job(executors=executors, resources={"limits": LIMITS}, podTemplate=own))[0]


def test_users_and_groups_that_the_operator_was_installed_without_are_the_platforms_to_choose() -> None:
    platform = replace(SETTINGS, run_as_user=None, run_as_group=None, fs_group=None)
    expected = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    for made in pods(platform).values():
        assert made["spec"]["securityContext"] == expected
    assert executor(job(executors={"instances": 1}), platform)[1]["spec"]["securityContext"] == expected
    assert pods()["member"]["spec"]["securityContext"]["runAsUser"] == 65532
