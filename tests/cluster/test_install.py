"""What helm installs: it answers, and may do no more than it must."""

from __future__ import annotations

import pytest

from cluster.kubernetes import Kubectl, RefusedError, run

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

MAY = (
    "create pods",
    "delete pods",
    "patch replicatedstreamjobs/status",
    "patch replicatedstreamjobs",
    "list nodes",
    "create events",
    "create controllerrevisions.apps",
)
MAY_NOT = (
    "get secrets",
    "list secrets",
    "create pods/exec",
    "create replicatedstreamjobs",
    "update replicatedstreamjobs",
    "delete replicatedstreamjobs",
    "delete nodes",
    "create deployments.apps",
    "create clusterroles",
    "create rolebindings",
    "delete namespaces",
    "update customresourcedefinitions",
)


def may(tandem: str, what: str) -> bool:
    verb, resource = what.split()
    resource, _, subresource = resource.partition("/")  # to kubectl, what follows a slash is a name
    account = f"system:serviceaccount:{tandem}:tandem"
    more = [f"--subresource={subresource}"] if subresource else []
    try:
        answer = run(["kubectl", "auth", "can-i", verb, resource, *more, "--as", account, "--all-namespaces"])
    except RefusedError as refused:  # "no" is an exit code of 1
        answer = str(refused)
    return answer.strip().startswith("yes")


def test_the_chart_passes_its_own_test(tandem: str) -> None:
    run(["helm", "test", "tandem", "--namespace", tandem, "--timeout", "120s"], timeout_s=150)


@pytest.mark.parametrize("what", MAY)
def test_the_operator_may_do_its_work(tandem: str, what: str) -> None:
    assert may(tandem, what)


@pytest.mark.parametrize("what", MAY_NOT)
def test_the_operator_may_do_nothing_else(tandem: str, what: str) -> None:
    assert not may(tandem, what)


def test_a_jobs_own_account_may_do_nothing(kubectl: Kubectl) -> None:
    kubectl("create", "serviceaccount", "flights")
    account = f"system:serviceaccount:{kubectl.namespace}:flights"
    with pytest.raises(RefusedError, match="no"):
        kubectl("auth", "can-i", "get", "pods", "--as", account)
