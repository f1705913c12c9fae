"""An operator for one namespace: who administers just that one installs it, and neither has rights anywhere else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.conftest import own_namespace
from cluster.installed import Release, may, no_operator
from cluster.kubernetes import Kubectl, RefusedError
from cluster.light import LightJob
from cluster.test_install import MAY, MAY_NOT
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

RELEASE = "tandem-own"
LANDLORD = "landlord"
NOT_OURS = {f"rolebinding.rbac.authorization.k8s.io/{LANDLORD}"}
CLUSTER_WIDE = "list nodes"
WORK = [what for what in MAY if what != CLUSTER_WIDE]


@pytest.fixture(scope="module")
def own(image: str, tandem: str) -> Iterator[Kubectl]:
    """The namespace of an operator that watches only that; the operator of all namespaces is away meanwhile."""
    with no_operator(tandem), own_namespace() as kubectl:
        kubectl("create", "rolebinding", LANDLORD, "--clusterrole=admin", f"--user={LANDLORD}")
        release = Release(RELEASE, kubectl.namespace, LANDLORD)
        release.install(image, "--skip-crds", "--set", "rbac.namespaced=true")
        yield kubectl


@pytest.fixture
def account(own: Kubectl) -> str:
    return f"system:serviceaccount:{own.namespace}:{RELEASE}"


def test_it_passes_the_charts_own_test(own: Kubectl) -> None:
    Release(RELEASE, own.namespace, LANDLORD).test()


@pytest.mark.parametrize("what", WORK)
def test_it_may_do_its_work_in_its_namespace_and_nowhere_else(own: Kubectl, account: str, what: str) -> None:
    assert may(account, what, own.namespace)
    assert not may(account, what, "default")
    assert not may(account, what)


@pytest.mark.parametrize("what", [CLUSTER_WIDE, *MAY_NOT])
def test_it_may_do_nothing_else(own: Kubectl, account: str, what: str) -> None:
    assert not may(account, what, own.namespace)
    assert not may(account, what)


def test_whoever_installed_it_could_not_have_installed_more(own: Kubectl, image: str) -> None:
    with pytest.raises(RefusedError, match="is forbidden"):
        Release("tandem-everywhere", own.namespace, LANDLORD).install(image, "--skip-crds")


def test_it_looks_after_the_jobs_of_its_namespace_and_leaves_others_alone(own: Kubectl, crd_namespace: Kubectl) -> None:
    theirs, ours = LightJob(crd_namespace), LightJob(own)
    crd_namespace.apply(theirs.manifest)
    try:
        own.apply(ours.manifest)
        ours.when_manned()
        ours.when_a_lost_pod_is_replaced()
        assert theirs.objects() == {}
        assert "status" not in crd_namespace.get("rsj", theirs.name)
    finally:
        crd_namespace("delete", "rsj", theirs.name)


def test_nothing_is_left_of_it_nor_of_a_job_that_is_deleted_while_no_operator_runs(own: Kubectl) -> None:
    """The last test here: afterwards it is gone."""
    job = LightJob(own, "survivor")
    own.apply(job.manifest)
    job.when_manned()
    there = job.objects()

    Release(RELEASE, own.namespace, LANDLORD).uninstall()
    assert job.objects() == there
    own("delete", "rsj", "--all")
    wait_until(lambda: own.everything() == NOT_OURS, Deadline(60), 1.0)
    assert own.everything() == NOT_OURS
