"""What of a pod the user may change, and what not."""

from __future__ import annotations

from typing import Any

import pytest

from tandem_operator.observed import Component
from tandem_operator.resources.overrides import merge
from tandem_operator.resources.pods import pod
from tandem_operator.resources.tolerations import lost_node
from unit.operator.operator_builders import SETTINGS, UID, job


def _pod(**template: Any) -> dict[str, Any]:
    return pod(job(podTemplate=template), UID, SETTINGS, Component.MEMBER, 0, "flights-replica-0-abcde")


def _replica(made: dict[str, Any]) -> dict[str, Any]:
    return next(container for container in made["spec"]["containers"] if container["name"] == "replica")


def test_a_volume_for_snapshots_is_added_to_ours() -> None:
    made = _pod(
        spec={
            "volumes": [{"name": "snapshots", "persistentVolumeClaim": {"claimName": "snapshots"}}],
            "containers": [{"name": "replica", "volumeMounts": [{"name": "snapshots", "mountPath": "/var/snapshots"}]}],
        }
    )
    assert [volume["name"] for volume in made["spec"]["volumes"]] == ["job", "tmp", "checkpoint", "snapshots"]
    assert [mount["mountPath"] for mount in _replica(made)["volumeMounts"]][-1] == "/var/snapshots"
    assert len(made["spec"]["containers"]) == 2


def test_variables_are_merged_by_name_and_one_source_replaces_another() -> None:
    made = _pod(spec={"containers": [{"name": "replica", "env": [{"name": "POD_IP", "value": "::1"}, {"name": "X"}]}]})
    env = {variable["name"]: variable for variable in _replica(made)["env"]}
    assert env["POD_IP"] == {"name": "POD_IP", "value": "::1"}
    assert set(env) == {"POD_NAME", "POD_IP", "NODE_NAME", "X"}


def test_a_container_of_the_users_own_comes_beside_ours() -> None:
    made = _pod(spec={"containers": [{"name": "proxy", "image": "example.com/proxy:1"}]})
    assert [container["name"] for container in made["spec"]["containers"]] == ["replica", "orderer", "proxy"]


def test_other_lists_are_replaced() -> None:
    spread = [{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}]
    assert _pod(spec={"topologySpreadConstraints": spread})["spec"]["topologySpreadConstraints"] == spread


def test_a_job_for_tainted_nodes_still_leaves_a_node_that_is_lost_within_seconds() -> None:
    gpu = {"key": "gpu", "operator": "Exists"}
    everything = {"operator": "Exists"}
    for theirs in (gpu, everything):
        assert _pod(spec={"tolerations": [theirs]})["spec"]["tolerations"] == [*lost_node(), theirs]


@pytest.mark.parametrize("effect", [{"effect": "NoExecute"}, {}], ids=["of the same effect", "of all effects"])
def test_a_toleration_of_the_same_taint_replaces_ours(effect: dict[str, str]) -> None:
    patient = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", **effect}
    not_ready = [one for one in lost_node() if one["key"].endswith("not-ready")]

    assert _pod(spec={"tolerations": [patient]})["spec"]["tolerations"] == [*not_ready, patient]


def test_a_toleration_of_the_same_taint_but_another_effect_is_added() -> None:
    other = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoSchedule"}

    assert _pod(spec={"tolerations": [other]})["spec"]["tolerations"] == [*lost_node(), other]


def test_null_removes_and_the_size_of_a_volume_is_set_in_place() -> None:
    made = _pod(
        spec={
            "topologySpreadConstraints": None,
            "volumes": [{"name": "checkpoint", "emptyDir": {"sizeLimit": "1Gi"}}],
        }
    )
    assert "topologySpreadConstraints" not in made["spec"]
    checkpoint = next(volume for volume in made["spec"]["volumes"] if volume["name"] == "checkpoint")
    assert checkpoint["emptyDir"] == {"medium": "Memory", "sizeLimit": "1Gi"}


def test_the_users_labels_are_added_and_ours_stay() -> None:
    meta = _pod(metadata={"labels": {"team": "air", "tandem.dev/job": "x"}, "annotations": {"a": "b"}})["metadata"]
    assert (meta["labels"]["team"], meta["labels"]["tandem.dev/job"], meta["annotations"]["a"]) == (
        "air",
        "flights",
        "b",
    )


def test_no_template_makes_two_members_share_a_node_or_a_process_run_as_root() -> None:
    mine = {"labelSelector": {"matchLabels": {"app": "noisy"}}, "topologyKey": "kubernetes.io/hostname"}
    made = _pod(
        spec={
            "restartPolicy": "Never",
            "securityContext": {"runAsNonRoot": False, "runAsUser": 1000},
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [mine]}},
            "containers": [{"name": "replica", "securityContext": {"runAsNonRoot": False}}],
        }
    )
    spec = made["spec"]
    terms = spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert len(terms) == 2
    assert mine in terms
    assert (spec["securityContext"]["runAsNonRoot"], spec["securityContext"]["runAsUser"]) == (True, 1000)
    assert _replica(made)["securityContext"]["runAsNonRoot"] is True
    assert spec["restartPolicy"] == "OnFailure"


def test_removed_affinity_comes_back_without_what_else_was_in_it() -> None:
    spec = _pod(spec={"affinity": None})["spec"]
    assert spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]


def test_a_probe_by_another_means_replaces_ours() -> None:
    made = _pod(spec={"containers": [{"name": "replica", "livenessProbe": {"exec": {"command": ["true"]}}}]})
    assert _replica(made)["livenessProbe"] == {"exec": {"command": ["true"]}}


def test_merging_leaves_both_sides_as_they_are() -> None:
    ours = {"a": {"b": 1}, "containers": [{"name": "x", "image": "i", "env": [{"name": "E", "value": "1"}]}]}
    theirs = {"a": {"c": 2}, "containers": [{"name": "x", "env": [{"name": "F", "value": "2"}]}]}
    before = repr((ours, theirs))
    merged = merge(ours, theirs)
    assert merged["a"] == {"b": 1, "c": 2}
    assert [variable["name"] for variable in merged["containers"][0]["env"]] == ["E", "F"]
    assert repr((ours, theirs)) == before


def test_what_is_said_of_a_container_of_ours_that_a_pod_lacks_is_nothing_to_it() -> None:
    template = {"spec": {"containers": [{"name": "replica", "env": [{"name": "X"}]}, {"name": "executor"}]}}
    of = job(ordering={"mode": "heartbeat"}, podTemplate=template)
    generator = pod(of, UID, SETTINGS, Component.GENERATOR, 0, "flights-generator-0-abcde")
    member = pod(of, UID, SETTINGS, Component.MEMBER, 0, "flights-replica-0-abcde")
    assert [container["name"] for container in generator["spec"]["containers"]] == ["generator"]
    assert [container["name"] for container in member["spec"]["containers"]] == ["replica"]
