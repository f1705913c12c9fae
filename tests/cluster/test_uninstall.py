"""What helm installed goes with it, and what a job consists of goes with the job, whoever is gone first."""

from __future__ import annotations

from typing import Final

import pytest

from cluster.installed import Release, no_operator
from cluster.kubernetes import Kubectl
from cluster.light import LightJob
from tandem.waiting import Deadline, wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.thorough, pytest.mark.timeout(400)]

RELEASE: Final = "tandem-brief"
CLUSTER_WIDE: Final = (
    "clusterroles,clusterrolebindings,priorityclasses,customresourcedefinitions,"
    "validatingwebhookconfigurations,mutatingwebhookconfigurations,apiservices"
)
LEFT_S: Final = 90.0


def cluster_wide(kubectl: Kubectl) -> set[str]:
    return set(kubectl("get", CLUSTER_WIDE, "--output=name").split())


def test_nothing_is_left_of_the_operator_nor_of_a_job_that_is_deleted_after_it(
    kubectl: Kubectl, tandem: str, image: str
) -> None:
    """But for the CRD, which other jobs need: `kubectl delete crd` is a step of its own."""
    before = cluster_wide(kubectl)
    release, job = Release(RELEASE, kubectl.namespace), LightJob(kubectl)
    options = ("--skip-crds", "--set", "priorityClass.create=true", "--set", f"priorityClass.name={RELEASE}")
    with no_operator(tandem):
        try:
            release.install(image, *options)
            assert cluster_wide(kubectl) > before
            kubectl.apply(job.manifest)
            job.when_manned()
        finally:
            release.uninstall()
        assert cluster_wide(kubectl) == before
        assert len(job.pods()) == 2, "the job went with its operator"

        kubectl("delete", "rsj", job.name)
        wait_until(lambda: not kubectl.everything(), Deadline(LEFT_S), 1.0)
        assert kubectl.everything() == set()
