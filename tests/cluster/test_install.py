"""What helm installs: it answers, and may do no more than it must."""

from __future__ import annotations

import pytest

from cluster.installed import Release, may
from cluster.kubernetes import Kubectl
from cluster.light import LightJob

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

MAY = (
    "create pods",
    "delete pods",
    "patch replicatedstreamjobs/status",
    "patch replicatedstreamjobs",
    "list nodes",
    "create events",
    "create controllerrevisions.apps",
    "create replicatedstreamjobs",
    "delete replicatedstreamjobs",
)
MAY_NOT = (
    "get secrets",
    "list secrets",
    "create pods/exec",
    "update replicatedstreamjobs",
    "deletecollection replicatedstreamjobs",
    "delete nodes",
    "create deployments.apps",
    "create clusterroles",
    "create rolebindings",
    "delete namespaces",
    "update customresourcedefinitions",
)
A_JOB_MAY_NOT = (
    "get pods",
    "list pods",
    "create pods",
    "delete pods",
    "get secrets",
    "list secrets",
    "get configmaps",
    "get replicatedstreamjobs",
    "patch replicatedstreamjobs",
)


def account(tandem: str) -> str:
    return f"system:serviceaccount:{tandem}:tandem"


def test_the_chart_passes_its_own_test(tandem: str) -> None:
    Release("tandem", tandem).test()


@pytest.mark.parametrize("what", MAY)
def test_the_operator_may_do_its_work(tandem: str, what: str) -> None:
    assert may(account(tandem), what)


@pytest.mark.parametrize("what", MAY_NOT)
def test_the_operator_may_do_nothing_else(tandem: str, what: str) -> None:
    assert not may(account(tandem), what)


@pytest.mark.usefixtures("tandem")
def test_the_account_that_a_job_gets_may_do_nothing(kubectl: Kubectl) -> None:
    job = LightJob(kubectl)
    kubectl.apply(job.manifest)
    job.when_manned()
    (name,) = {kubectl.get("pod", pod)["spec"]["serviceAccountName"] for pod in job.pods()}
    assert ("ServiceAccount", name) in job.objects()

    user = f"system:serviceaccount:{kubectl.namespace}:{name}"
    assert [what for what in A_JOB_MAY_NOT if may(user, what, kubectl.namespace)] == []
