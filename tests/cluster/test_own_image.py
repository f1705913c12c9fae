"""A job in an image of its own, on top of Tandem's, with a password for Kafka in a Secret; and a new image is rolled out."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.conftest import own_namespace
from cluster.jobs import START_S, ClusterJob, running_job
from cluster.lab import Lab
from integration.workload import JOB, Cluster
from tandem.devservers import KafkaBroker

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), pytest.mark.thorough]

MASKED_S = 5.0
USER, PASSWORD = "tandem", "correct-horse"
OWN = "tandem-own"
SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "kafka-login"},
    "stringData": {"password": PASSWORD},
}


@pytest.fixture(scope="module")
def guarded(servers: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A broker with a listener that wants a password; the tests themselves use the other one."""
    folder, host = tmp_path_factory.mktemp("guarded"), os.environ["KUBE_LAB_HOST"]
    with KafkaBroker(folder, host=host, sasl_users={USER: PASSWORD}) as kafka:
        yield Cluster(kafka, servers.zookeeper)


def build(lab: Lab, folder: Path, image: str, base: str, version: int) -> str:
    """As docs/how-to/build-an-image.md says: FROM Tandem's image, and the job's file."""
    tag = f"{image}:{version}"
    (folder / "job.py").write_text(JOB)
    (folder / "Dockerfile").write_text(f"FROM {base}\nLABEL version={version}\nCOPY job.py /opt/tandem/work/\n")
    lab.build(tag, folder)
    return tag


@pytest.fixture(scope="module")
def job(
    guarded: Cluster,
    lab: Lab,
    image: str,
    tandem: str,  # noqa: ARG001, it must be installed
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ClusterJob]:
    first = build(lab, tmp_path_factory.mktemp("image"), OWN, image, 1)
    spec = {
        "image": first,
        "job": {"file": "/opt/tandem/work/job.py"},
        "kafka": {
            "bootstrapServers": guarded.kafka.sasl_bootstrap,
            "properties": {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanisms": "PLAIN",
                "sasl.username": USER,
            },
            "secretProperties": {"sasl.password": {"secretKeyRef": {"name": "kafka-login", "key": "password"}}},
        },
    }
    with own_namespace() as kubectl:
        kubectl.apply(SECRET)
        with running_job(kubectl, guarded, f"own-{uuid.uuid4().hex[:6]}", **spec) as job:
            yield job


def test_a_job_in_an_image_of_its_own_logs_in_with_a_secret(job: ClusterJob) -> None:
    job.flows_on(400)
    told = [job.kubectl("logs", pod["metadata"]["name"], "--all-containers") for pod in job.pods()]
    assert len(told) == 2
    assert all(PASSWORD not in text for text in told)
    assert PASSWORD not in job.kubectl("get", "rsj,pods,configmaps", "-o", "yaml")


def test_a_new_image_is_rolled_out_and_readers_notice_nothing(
    job: ClusterJob, lab: Lab, image: str, tmp_path: Path
) -> None:
    second = build(lab, tmp_path, OWN, image, 2)
    with job.output_goes_on(MASKED_S):
        job.patch({"image": second})
        job.wait(lambda: {running(pod) for pod in job.pods()} == {second}, START_S, "all replicas run the new image")
        job.when_ready()
        job.flows_on(400)


def running(pod: dict[str, object]) -> object:
    """The image of a pod's replica."""
    spec = pod["spec"]
    assert isinstance(spec, dict)
    (replica,) = (one for one in spec["containers"] if one["name"] == "replica")
    return replica["image"]
