"""From an older chart and CRD to today's, back, away and there again, as in docs/how-to/install.md: the job stays as it is.

There is no released version before this one. What stands in for it is today's chart with another version and settings, one
template less, and a CRD that lacks a field.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from alerts.rules import read
from cluster.crd_base import manifest
from cluster.installed import CHART, Release, no_operator
from cluster.kubernetes import Kubectl, Object, RefusedError, run
from cluster.light import LightJob

pytestmark = [pytest.mark.cluster, pytest.mark.thorough, pytest.mark.timeout(400)]

NEW_FIELD: Final = "restartNonce"
NEW_TEMPLATE: Final = "networkpolicy.yaml"
OLD_VERSION: Final = "0.0.9"
NAMESPACED: Final = ("--skip-crds", "--set", "rbac.namespaced=true")
RELEASE: Final = "tandem-own"


def test_a_job_outlives_an_upgrade_a_rollback_and_a_new_installation(
    kubectl: Kubectl, tandem: str, image: str, tmp_path: Path
) -> None:
    old, release, job = older_chart(tmp_path), Release(RELEASE, kubectl.namespace), LightJob(kubectl)
    with no_operator(tandem), older_crd(old):
        release.install(image, *NAMESPACED, "--set", "operator.logLevel=DEBUG", chart=old)
        kubectl.wait(lambda: not knows_the_new_field(kubectl), 30, "the older CRD")
        kubectl.apply(job.manifest)
        job.when_manned()
        there, generation = job.objects(), job.generation

        upgrade_crd()
        kubectl.wait(lambda: knows_the_new_field(kubectl), 30, "today's CRD")
        release.upgrade("--reset-then-reuse-values")
        assert installed(kubectl) == (str(read(CHART / "Chart.yaml")["version"]), True)
        assert "--log-level=DEBUG" in deployment(kubectl)["spec"]["template"]["spec"]["containers"][0]["args"]
        assert (job.objects(), job.generation) == (there, generation)
        job.when_a_lost_pod_is_replaced()

        there = job.objects()
        release.rollback(1)
        assert installed(kubectl) == (OLD_VERSION, False)
        assert (job.objects(), job.generation) == (there, generation)
        job.when_a_lost_pod_is_replaced()

        there = job.objects()
        release.uninstall()
        assert deployment(kubectl) == {}
        assert (job.objects(), job.generation) == (there, generation)
        release.install(image, *NAMESPACED)
        job.when_a_lost_pod_is_replaced()
        assert job.generation == generation
        kubectl("delete", "rsj", job.name)


def older_chart(folder: Path) -> Path:
    """The stand-in."""
    chart = shutil.copytree(CHART, folder / "tandem")
    about = chart / "Chart.yaml"
    about.write_text(re.sub(r"(?m)^(version|appVersion): .*", rf"\1: {OLD_VERSION}", about.read_text()))
    (chart / "templates" / NEW_TEMPLATE).unlink()
    (path,) = (chart / "crds").iterdir()
    crd = read(path)
    (version,) = crd["spec"]["versions"]
    del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][NEW_FIELD]
    path.write_text(json.dumps(crd))
    return chart


@contextmanager
def older_crd(chart: Path) -> Iterator[None]:
    """The CRD of `chart` while the block runs, then today's again. Other jobs do not use the field that it lacks."""
    run(["kubectl", "replace", "-f", str(chart / "crds")])
    try:
        yield
    finally:
        upgrade_crd()


def upgrade_crd() -> None:
    """As documented: helm does not."""
    run(["kubectl", "apply", "--server-side", "--force-conflicts", "-f", str(CHART / "crds")])


def knows_the_new_field(kubectl: Kubectl) -> bool:
    """Whether the API server accepts a job that uses the field."""
    try:
        kubectl.send("create", manifest({f"spec.{NEW_FIELD}": 1}), "--dry-run=server", "--validate=strict")
    except RefusedError as refused:
        if f'unknown field "spec.{NEW_FIELD}"' not in str(refused):
            raise
        return False
    return True


def deployment(kubectl: Kubectl) -> Object:
    """The operator's."""
    return kubectl.get("deployment", RELEASE)


def installed(kubectl: Kubectl) -> tuple[str, bool]:
    """Of which version the chart is that is installed, and whether it has the new template."""
    version = deployment(kubectl)["metadata"]["labels"]["app.kubernetes.io/version"]
    return version, bool(kubectl.get("networkpolicy", RELEASE))
