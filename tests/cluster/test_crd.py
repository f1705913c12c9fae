"""The CRD on a real API server: each rule accepts and rejects, and whatever is wrong is said where and how to fix it."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.conftest import ROOT
from cluster.crd_cases import CASES, Case
from cluster.kubernetes import Kubectl, RefusedError, holds, run
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


def dry_run(kubectl: Kubectl, manifest: dict[str, Any], *options: str) -> str:
    """Let the API server check a manifest, with all its keys."""
    return kubectl.send("create", manifest, "--dry-run=server", "--validate=strict", *options)


@pytest.mark.usefixtures("crd")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.rule)
def test_a_rule_accepts_what_is_good_and_rejects_what_is_not(crd_namespace: Kubectl, case: Case) -> None:
    kubectl = crd_namespace
    if case.before is None:
        dry_run(kubectl, case.good)
        with pytest.raises(RefusedError) as refused:
            dry_run(kubectl, case.bad)
    else:
        kubectl.send("create", case.before)
        try:
            replaced(kubectl, case.good)
            with pytest.raises(RefusedError) as refused:
                replaced(kubectl, case.bad)
        finally:
            kubectl("delete", "rsj", case.before["metadata"]["name"])
    assert case.fragment in str(refused.value)


@pytest.mark.usefixtures("crd")
@pytest.mark.parametrize("wrong", [w for w in WRONG if w.found_by != "operator"], ids=lambda wrong: wrong.name)
def test_a_wrong_manifest_is_rejected_by_the_api_server(crd_namespace: Kubectl, wrong: Wrong) -> None:
    with pytest.raises(RefusedError) as refused:
        dry_run(crd_namespace, wrong.manifest)
    assert wrong.fragment in str(refused.value)


def replaced(kubectl: Kubectl, manifest: dict[str, Any], attempts: int = 10) -> str:
    """Let the API server check a change; again if an operator has written the status meanwhile."""
    there = kubectl.get("rsj", manifest["metadata"]["name"])
    version = there["metadata"]["resourceVersion"]
    changed = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version}}
    try:
        return kubectl.send("replace", changed, "--dry-run=server")
    except RefusedError as error:
        if attempts <= 1 or "(Conflict)" not in str(error):
            raise
    return replaced(kubectl, manifest, attempts - 1)
