"""The pods of a job are in different zones as far as there are any: the scheduler is asked to, and does so.

For as long as this takes the nodes are in two zones. The pods' image is one that nobody has, so nothing starts in them.
Kubernetes itself spreads the pods of a Service a little; that would not do where the node of the other zone is much fuller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

import pytest

from cluster.crd_base import ABSENT
from cluster.kubernetes import Kubectl, Object, run
from cluster.light import LightJob
from tandem.manifest.quantities import amount
from tandem_operator.resources import Settings
from tandem_operator.resources.containers import pod_security, restricted

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300), pytest.mark.thorough]

ZONE = "topology.kubernetes.io/zone"
JOBS = 6
NOBODY_HAS = "localhost/nobody-has:1"
FULLER = Decimal("0.7")
"""So much of the node that is alone in its zone is taken."""
STANDING_BY = {"spec.replicas": 1, "spec.standbys": 1, "spec.snapshots": {"store": "s3://nobody"}}


def put(node: str, zone: str | None) -> None:
    """Put a node into a zone; None: into none."""
    run(["kubectl", "label", "node", node, "--overwrite", f"{ZONE}={zone}" if zone else f"{ZONE}-"])


@pytest.fixture
def zones() -> Iterator[dict[str, str]]:
    """Node → zone: all nodes but one are in one zone."""
    before = {
        node["metadata"]["name"]: node["metadata"]["labels"].get(ZONE) for node in Kubectl("default").list("nodes")
    }
    *many, last = sorted(before)
    now = {**dict.fromkeys(many, "one"), last: "other"}
    for node, zone in now.items():
        put(node, zone)
    yield now
    for node, former in before.items():
        put(node, former)


def taken(node: str) -> Object:
    """A pod that asks for much of a node, and starts nothing."""
    there = Kubectl("default").get("node", node)["status"]["allocatable"]
    cpu, memory = (amount(there[what]) * FULLER for what in ("cpu", "memory"))
    container = {
        "name": "much",
        "image": NOBODY_HAS,
        "resources": {"requests": {"cpu": f"{cpu * 1000:.0f}m", "memory": f"{memory:.0f}"}},
        "securityContext": restricted(),
    }
    spec = {"nodeName": node, "containers": [container], "securityContext": pod_security(Settings(image=NOBODY_HAS))}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "much"}, "spec": spec}


def test_the_two_pods_of_a_job_are_in_two_zones(kubectl: Kubectl, tandem: str, zones: dict[str, str]) -> None:  # noqa: ARG001, it must be installed
    kubectl.apply(taken(next(node for node, zone in zones.items() if zone == "other")))
    nothing_starts = {"spec.image": NOBODY_HAS, "spec.podTemplate": ABSENT}
    for index in range(JOBS):
        shape = STANDING_BY if index % 2 else {}
        kubectl.apply(LightJob(kubectl, f"job-{index}").changed({**nothing_starts, **shape}))

    def places() -> list[tuple[str, str]]:
        pods = kubectl.list("pods", "tandem.dev/job")
        return [(pod["metadata"]["labels"]["tandem.dev/job"], pod["spec"].get("nodeName", "")) for pod in pods]

    def placed() -> bool:
        found = places()
        return len(found) == 2 * JOBS and all(node for _, node in found)

    kubectl.wait(placed, 120, f"{JOBS} jobs have two pods each, on nodes")
    found = Counter((job, zones[node]) for job, node in places())
    assert set(found.values()) == {1}, sorted(found.items())
    assert {zone for _, zone in found} == {"one", "other"}
