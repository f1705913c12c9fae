"""What helm makes of the chart's values: it refuses wrong ones with a remedy, and right ones do what they promise."""

from __future__ import annotations

import re
from typing import Final

import pytest
from ruamel.yaml import YAML

from cluster.conftest import ROOT
from cluster.installed import CHART
from cluster.kubernetes import Object, RefusedError, run
from tandem.manifest import load
from tandem_operator.resources import Settings
from tandem_operator.resources.network import network_policy
from tandem_operator.resources.tolerations import lost_node

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]
"""None of them takes long. But they come last in CI, and what was made for all files ends with the last test."""

EXAMPLE: Final = ROOT / "jobs" / "tandem" / "examples" / "flights" / "flights.yaml"
NAMESPACED: Final = "rbac.namespaced=true"
MONITORED: Final = ("metrics.serviceMonitor.enabled=true", "metrics.podMonitor.enabled=true")
ALERTED: Final = ("alerts.prometheusRule.enabled=true", "alerts.configMap.enabled=true")
WRONG: Final = [
    (("replicaCount=2",), "additional properties 'replicaCount' not allowed"),
    (("operator.logLevel=LOUD",), "at '/operator/logLevel': value must be one of 'DEBUG', 'INFO', 'WARNING', 'ERROR'"),
    (("rbac.namespaced=maybe",), "at '/rbac/namespaced': got string, want boolean"),
    (("watchNamespaces={a,a}",), "at '/watchNamespaces': items at 0 and 1 are equal"),
    (("watchNamespaces={A}",), "at '/watchNamespaces/0'"),
    (("metrics.podMonitor.interval=often",), "at '/metrics/podMonitor/interval'"),
    ((NAMESPACED, "priorityClass.create=true"), "a PriorityClass is cluster-wide; set one of them to false"),
    ((MONITORED[0],), "metrics.serviceMonitor.enabled needs the CRDs of the Prometheus operator"),
]


LABEL: Final = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
SERVICE: Final = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")


def rendered(*values: str, options: tuple[str, ...] = (), release: str = "tandem") -> list[Object]:
    """What would be installed into the namespace `shop`."""
    given = [word for value in values for word in ("--set", value)]
    text = run(["helm", "template", release, str(CHART), "--namespace", "shop", *given, *options])
    return [one for one in YAML(typ="safe").load_all(text) if one]


def selected(one: Object) -> tuple[str, ...]:
    """The labels by which an object finds the operator's pod."""
    spec = one.get("spec", {})
    found: Object = spec.get("selector") or spec.get("podSelector") or {}
    return tuple(found.get("matchLabels", found).values())


@pytest.mark.parametrize(("values", "fragment"), WRONG, ids=lambda given: given[-1] if isinstance(given, tuple) else "")
def test_wrong_values_are_refused_and_it_is_said_which(values: tuple[str, ...], fragment: str) -> None:
    with pytest.raises(RefusedError) as refused:
        rendered(*values)
    assert fragment in str(refused.value)


def test_namespaced_nothing_is_cluster_wide_whatever_else_is_asked_for() -> None:
    found = rendered(NAMESPACED, *MONITORED, *ALERTED, options=("--api-versions", "monitoring.coreos.com/v1"))

    assert {one["metadata"].get("namespace") for one in found} == {"shop"}
    assert {"Role", "PodMonitor", "PrometheusRule"} <= {one["kind"] for one in found}


def test_watched_namespaces_get_a_role_each_and_no_other_does() -> None:
    found = rendered("watchNamespaces={a,b}")

    for kind in ("Role", "RoleBinding"):
        assert [one["metadata"]["namespace"] for one in found if one["kind"] == kind] == ["a", "b"]
    (deployment,) = (one for one in found if one["kind"] == "Deployment")
    assert "--namespaces=a,b" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]


def tolerations(*values: str) -> list[Object]:
    """What the operator's pod tolerates."""
    (deployment,) = (one for one in rendered(*values) if one["kind"] == "Deployment")
    found: list[Object] = deployment["spec"]["template"]["spec"]["tolerations"]
    return found


def test_the_operator_leaves_a_lost_node_as_soon_as_jobs_do() -> None:
    own = {"key": "shop", "operator": "Exists", "effect": "NoSchedule"}

    assert tolerations() == lost_node()
    found = tolerations(*(f"operator.tolerations[0].{name}={word}" for name, word in own.items()))
    assert found == [own, *lost_node()]


def test_whom_jobs_let_have_their_metrics_the_operator_lets_have_its_own() -> None:
    (policy,) = (one for one in rendered() if one["kind"] == "NetworkPolicy")
    jobs = network_policy(load(EXAMPLE).model, "uid", Settings(image="tandem", operator_namespace="shop"))

    admitted, (here, scrapers) = policy["spec"]["ingress"][0]["from"], jobs["spec"]["ingress"][0]["from"]
    assert here["namespaceSelector"]["matchLabels"] == {"kubernetes.io/metadata.name": policy["metadata"]["namespace"]}
    assert admitted == [{"podSelector": {}}, scrapers]


@pytest.mark.parametrize("effect", ["NoExecute", ""])
def test_what_is_asked_for_about_a_lost_node_wins(effect: str) -> None:
    asked = {"key": lost_node()[0]["key"], "operator": "Exists", "tolerationSeconds": 60}
    asked |= {"effect": effect} if effect else {}

    found = tolerations(*(f"operator.tolerations[0].{name}={word}" for name, word in asked.items()))
    assert found == [asked, lost_node()[1]]


def test_who_tolerates_everything_is_not_made_to_leave() -> None:
    assert tolerations("operator.tolerations[0].operator=Exists") == [{"operator": "Exists"}]


LONG: Final = "1" + "a" * 61 + "b"


@pytest.mark.parametrize("values", [(), (f"nameOverride={LONG}",), (f"fullnameOverride={LONG}",), ("nameOverride=1a",)])
@pytest.mark.parametrize("release", ["tandem", "1a", LONG[:53]])
def test_names_and_labels_are_such_as_kubernetes_takes(values: tuple[str, ...], release: str) -> None:
    found = rendered(*values, release=release)

    labels = [text for one in found for text in (*one["metadata"]["labels"].values(), *selected(one))]
    assert [text for text in labels if not LABEL.fullmatch(text)] == []
    services = [one["metadata"]["name"] for one in found if one["kind"] == "Service"]
    assert [bool(SERVICE.fullmatch(name)) for name in services] == [True]
    selectors = {one["kind"]: selected(one) for one in found if selected(one)}
    assert selectors.keys() == {"Deployment", "NetworkPolicy", "Service"}
    assert len(set(selectors.values())) == 1


def test_names_that_yaml_takes_for_numbers_stay_names() -> None:
    strings = (
        "--set-string",
        "fullnameOverride=123,serviceAccount.name=7,watchNamespaces={2025},priorityClass.name=on",
    )
    found = rendered("priorityClass.create=true", options=(*strings, "--namespace", "1e5"))

    names = [one["metadata"][key] for one in found for key in ("name", "namespace") if key in one["metadata"]]
    assert {"123", "7", "1e5", "2025", "on"} <= set(names)
    assert all(isinstance(name, str) for name in names)


def users(*values: str) -> tuple[list[Object], list[str]]:
    """Whom the pods of the chart run as, and what the operator is given for those of jobs."""
    found = rendered(*values)
    pods = [
        one["spec"]["template"]["spec"] if one["kind"] == "Deployment" else one["spec"]
        for one in found
        if one["kind"] in ("Deployment", "Pod")
    ]
    ids = ("runAsUser", "runAsGroup", "fsGroup")
    told = [arg for arg in pods[0]["containers"][0]["args"] if arg.startswith(("--run-as", "--fs-group"))]
    return [
        {name: pod["securityContext"][name] for name in ids if name in pod["securityContext"]} for pod in pods
    ], told


def test_users_and_groups_are_left_to_the_platform_where_they_are_null() -> None:
    ours = {"runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532}
    assert users() == ([ours, ours], ["--run-as-user=65532", "--run-as-group=65532", "--fs-group=65532"])
    nobody = [f"securityContext.{name}=null" for name in ours]
    assert users(*nobody) == ([{}, {}], ["--run-as-user=", "--run-as-group=", "--fs-group="])
    large = users("securityContext.runAsUser=1000670000", *nobody[1:])
    assert large == ([{"runAsUser": 1_000_670_000}] * 2, ["--run-as-user=1000670000", "--run-as-group=", "--fs-group="])
