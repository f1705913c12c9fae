"""What helm grants the operator, with executors or without, everywhere or in one namespace: never more than it needs."""

from __future__ import annotations

from typing import Any, Final

import pytest

from cluster.test_values import NAMESPACED, rendered

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(60)]

EXECUTORS: Final = "executors.enabled=true"
RIGHTS: Final = ("Role", "ClusterRole")
NEVER: Final = frozenset(
    {
        *("secrets", "nodes/proxy", "clusterroles", "clusterrolebindings", "customresourcedefinitions", "namespaces"),
        *("pods/exec", "pods/attach", "pods/portforward", "pods/ephemeralcontainers", "serviceaccounts/token"),
        *("deployments", "bind", "escalate", "impersonate", "update", "*"),
    }
)


def operators_rules(*values: str) -> list[dict[str, Any]]:
    """The rules of the roles that are bound to the operator's account."""
    found = rendered(*values)
    bound = {one["roleRef"]["name"] for one in found if one["kind"].endswith("RoleBinding")}
    return [
        rule for one in found if one["kind"] in RIGHTS and one["metadata"]["name"] in bound for rule in one["rules"]
    ]


@pytest.mark.parametrize(
    "values",
    [(), (EXECUTORS,), (NAMESPACED,), (NAMESPACED, EXECUTORS), ("watchNamespaces={a,b}", EXECUTORS)],
    ids=lambda values: " ".join(values) or "default",
)
def test_what_the_operator_may_do_never_reaches_further_than_its_work(values: tuple[str, ...]) -> None:
    rules = operators_rules(*values)
    granted = {word for rule in rules for part in ("apiGroups", "resources", "verbs") for word in rule[part]}

    assert {"pods", "replicatedstreamjobs/status", "patch"} <= granted
    assert granted & NEVER == frozenset()
    assert ("roles" in granted) == (EXECUTORS in values)
    assert ("nodes" in granted) == (not any("amespace" in value for value in values))
    assert [rule["verbs"] for rule in rules if "nodes" in rule["resources"]] in ([], [["list", "watch"]])
