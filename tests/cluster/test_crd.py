"""The CRD on a real API server: each rule accepts and rejects, and whatever is wrong is said where and how to fix it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cluster.conftest import ROOT
from cluster.crd_cases import CASES, Case
from cluster.job_api import ConflictError, JobApi, jobs_of
from cluster.kubernetes import Kubectl, Object, RefusedError, holds, run
from cluster.wrong_manifests import WRONG, Wrong

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]


@pytest.fixture(scope="session")
def crd() -> None:
    """The CRD of this commit; a chart's installation would bring the same."""
    run(["kubectl", "apply", "--server-side", "--force-conflicts", "-f", str(ROOT / "crds")])
    cluster, name = Kubectl("default"), "replicatedstreamjobs.tandem.dev"
    # `kubectl wait` refuses a CRD that has no conditions yet, as it is just after it was made.
    cluster.wait(lambda: holds(cluster.get("crd", name), "Established"), 30, "the CRD is established")
    cluster.wait(lambda: is_known(cluster), 30, "kubectl finds the kind: discovery follows a moment later")


def is_known(kubectl: Kubectl) -> bool:
    try:
        kubectl("get", "rsj")
    except RefusedError:
        return False
    return True


@pytest.fixture(scope="session")
def jobs(crd_namespace: Kubectl, crd: None) -> Iterator[JobApi]:  # noqa: ARG001, it must be there
    """The jobs of a namespace where nobody acts on them."""
    with jobs_of(crd_namespace.namespace) as api:
        yield api


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_a_rule_accepts_what_is_good_and_rejects_what_is_not(jobs: JobApi, case: Case) -> None:
    if case.before is None:
        jobs.check(case.good)
        with pytest.raises(RefusedError) as refused:
            jobs.check(case.bad)
    else:
        jobs.create(case.before)
        try:
            check_change(jobs, case.good)
            with pytest.raises(RefusedError) as refused:
                check_change(jobs, case.bad)
        finally:
            jobs.delete(case.before["metadata"]["name"])
    assert case.fragment in str(refused.value)


@pytest.mark.parametrize("wrong", [w for w in WRONG if w.found_by != "operator"], ids=lambda wrong: wrong.name)
def test_a_wrong_manifest_is_rejected_by_the_api_server(jobs: JobApi, wrong: Wrong) -> None:
    with pytest.raises(RefusedError) as refused:
        jobs.check(wrong.manifest)
    assert wrong.fragment in str(refused.value)


def check_change(jobs: JobApi, manifest: Object, attempts: int = 10) -> None:
    """Let the API server check a change; again if an operator has written the status meanwhile."""
    version = jobs.get(manifest["metadata"]["name"])["metadata"]["resourceVersion"]
    changed = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version}}
    try:
        jobs.check_change(changed)
    except ConflictError:
        if attempts <= 1:
            raise
        check_change(jobs, manifest, attempts - 1)
