"""A cluster with Tandem installed, and a real broker and ZooKeeper on this machine that its pods reach.

KUBECONFIG names the cluster, TANDEM_IMAGE an image that its nodes have, KUBE_LAB_HOST the address of this machine as pods
see it, KUBE_LAB the command that powers nodes off. `.ci/run` sets all of them.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from cluster.installed import Release
from cluster.jobs import ClusterJob, running_job
from cluster.kubernetes import Kubectl, Object, run
from cluster.lab import Lab
from integration.workload import Cluster
from tandem.devservers import KafkaBroker, ZooKeeperServer
from tandem.waiting import Deadline, wait_until

ROOT = Path(__file__).parents[2]
SYSTEM = "tandem-system"
_OURS = "tandem-tests=own"
_ENDING = "jsonpath={range .items[?(@.metadata.deletionTimestamp)]}{.metadata.name} {end}"
_DELETED_S = 180.0

_SNAPSHOTS = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "snapshots"},
    "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
}
_WITH_SNAPSHOTS = {
    "containers": [{"name": "replica", "volumeMounts": [{"name": "snapshots", "mountPath": "/snapshots"}]}],
    "volumes": [{"name": "snapshots", "persistentVolumeClaim": {"claimName": "snapshots"}}],
}


@pytest.fixture(scope="session")
def image() -> str:
    return os.environ["TANDEM_IMAGE"]


@pytest.fixture(scope="session")
def lab() -> Lab:
    return Lab()


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A broker and a ZooKeeper that pods reach."""
    host, folder = os.environ["KUBE_LAB_HOST"], tmp_path_factory.mktemp("servers")
    with (
        KafkaBroker(folder / "kafka", host=host) as kafka,
        ZooKeeperServer(folder / "zookeeper", host=host) as zookeeper,
    ):
        yield Cluster(kafka, zookeeper)


@pytest.fixture
def zookeeper(servers: Cluster) -> Iterator[KazooClient]:
    """A client of the ZooKeeper."""
    client = KazooClient(servers.zookeeper.connect)
    client.start(10)
    yield client
    client.stop()
    client.close()


@pytest.fixture(scope="session")
def tandem(image: str) -> Iterator[str]:
    """Tandem, installed by helm; the namespace that it is in."""
    release = Release("tandem", SYSTEM)
    release.install(image, "--create-namespace")
    yield SYSTEM
    when_deleted()  # the operator ends jobs
    release.uninstall()


@pytest.fixture
def kubectl() -> Iterator[Kubectl]:
    """A namespace of the test's own."""
    with own_namespace() as namespace:
        yield namespace


@pytest.fixture(scope="session")
def crd_namespace() -> Iterator[Kubectl]:
    """A namespace for objects that nobody acts on: they are only checked, or suspended."""
    with own_namespace() as namespace:
        yield namespace


@pytest.fixture(scope="module")
def two(servers: Cluster, tandem: str) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be installed
    """A job with two active replicas, for one file of tests."""
    with own_namespace() as kubectl, running_job(kubectl, servers, f"two-{uuid.uuid4().hex[:6]}") as job:
        yield job


@pytest.fixture(scope="session")
def pair(servers: Cluster, tandem: str) -> Iterator[ClusterJob]:  # noqa: ARG001, it must be installed
    """A job with one active replica, one standby and snapshots on a volume, for several files of tests."""
    with own_namespace() as kubectl:
        name, spec = f"pair-{uuid.uuid4().hex[:6]}", {"replicas": 1, "standbys": 1, **with_snapshots(kubectl)}
        with running_job(kubectl, servers, name, **spec) as job:
            yield job


def with_snapshots(kubectl: Kubectl) -> Object:
    """What a job's spec needs for snapshots on a volume of the namespace, which is made."""
    kubectl.apply(_SNAPSHOTS)
    return {"snapshots": {"store": "/snapshots"}, "podTemplate": {"spec": _WITH_SNAPSHOTS}}


@contextmanager
def own_namespace(every_s: float = Kubectl.every_s) -> Iterator[Kubectl]:
    """A new namespace, in the standard `restricted`, for as long as the block runs. `every_s`: how often waits look."""
    name = f"test-{uuid.uuid4().hex[:6]}"
    run(["kubectl", "create", "namespace", name])
    run(["kubectl", "label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted", _OURS])
    try:
        yield Kubectl(name, every_s)
    finally:
        run(["kubectl", "delete", "namespace", name, "--wait=false"])


def when_deleted() -> None:
    """Wait until the namespaces of tests that are over are gone, with what ran there."""
    listed = ["kubectl", "get", "namespaces", "--selector", _OURS, "--output", _ENDING]
    are_gone = wait_until(lambda: not run(listed).split(), Deadline(_DELETED_S), 1.0)
    assert are_gone, f"not deleted within {_DELETED_S:.0f} s: {run(listed)}"
